// Why a row has its prediction: by basis vectors, by features, by what would change it, by its neighbours.
function outputPicker(machine, redraw) {
  const { outputs } = machine.facts.model;
  if (outputs.length === 1) return null;
  const box = el(
    "select",
    {
      id: "output",
      onchange: () => {
        state.output = Number(box.value);
        redraw();
      }
    },
    outputs.map((name, o) => el("option", { value: o, selected: o === state.output }, name))
  );
  return el("div", { class: "controls" }, el("label", { for: "output" }, "Explain the score of"), box);
}

// The largest values, with their labels and error bars; what is left is one.
function largest(labels, values, most, bars = null) {
  const order = values
    .map((_, k) => k)
    .filter((k) => values[k] !== 0)
    .sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]));
  const shown = order.slice(0, most),
    rest = order.slice(most);
  const found = { labels: shown.map((k) => labels[k]), values: shown.map((k) => values[k]), bars: bars && shown.map((k) => bars[k]) };
  if (rest.length) {
    found.labels.push(`${rest.length} others`);
    found.values.push(rest.reduce((sum, k) => sum + values[k], 0));
  }
  if (!found.values.length) {
    found.labels.push("nothing");
    found.values.push(0);
  }
  return found;
}

function valueLabels(machine, row) {
  return machine.columns.map((column) => `${column.name} = ${cellText(column, row)}${column.unit ? " " + column.unit : ""}`);
}

function vectorParts(machine, row, explained) {
  const values = machine.engine.contributions(row).map((own) => own[state.output]);
  const count = machine.background.length,
    usual = values.map(() => 0);
  machine.background.forEach((other) =>
    machine.engine.contributions(other).forEach((own, r) => {
      usual[r] += own[state.output] / count;
    })
  );
  return {
    values: values.map((v, r) => v - usual[r]),
    base: explained.scores[state.output] - values.reduce((sum, v, r) => sum + v - usual[r], 0)
  };
}

function drawExplain(machine) {
  const { facts } = machine,
    { row, output } = state,
    teller = facts.axis ? tellerOf(machine) : machine,
    explained = shapleyValues(teller, row),
    vectors = vectorParts(machine, row, explained);
  const sure = facts.refits && shapleyBars(teller, explained, (refit) => shapleyValues(refit, row).values),
    steady = facts.refits && barsOf(machine, (refit) => vectorParts(refit, row, explained).values),
    shapBars = sure && sure.map((own) => own[output]),
    whiskers = facts.refits ? `; ${BARS_NOTE}` : "";
  const names = machine.labels,
    score = facts.model.score_names[output],
    fall = largest(names, vectors.values, 12, steady);
  if (state.vector === null || state.vector >= names.length)
    state.vector = vectors.values.reduce((best, v, r) => (Math.abs(v) > Math.abs(vectors.values[best]) ? r : best), 0);
  const labels = valueLabels(machine, row),
    shap = explained.values.map((own) => own[output]),
    bars = largest(labels, shap, 15, shapBars);
  const against = machine.rows.length
    ? `${explained.exact ? explained.count : machine.background.length} samples of this file`
    : "the median of every feature";
  const two = document.documentElement.clientWidth >= 980,
    side = chartWidth(two ? 470 : 760);
  const parts = [
    answerBox(machine, row, state.title, truthOf(facts, state.title)),
    ...(facts.order || facts.survival ? targetParts(machine, row) : []),
    outputPicker(machine, () => drawExplain(machine))
  ];
  const levels = [
    figure({
      title: "By basis vectors",
      note: `from the ${machine.rows.length ? `mean ${score} of` : `${score} at`} ${against} to that of this sample${whiskers}`,
      alt: `Waterfall over basis vectors; the largest step is ${fall.labels[0]} with ${signed(fall.values[0])}.`,
      chart: waterfall(fall.labels, fall.values, vectors.base, { last: "this sample", width: side, bars: fall.bars }),
      head: ["basis vector", "adds", ...(steady ? ["±"] : []), "similarity"],
      rows: names.map((name, r) => [
        name,
        vectors.values[r],
        ...(steady ? [steady[r]] : []),
        machine.engine.similarities(row)[r]
      ])
    })
  ];
  if (explained.within) levels.push(withinFigure(teller, explained, labels, side, machine));
  parts.push(el("div", { class: "pair" }, levels));
  parts.push(
    figure({
      title: "By features: Shapley values",
      note: explained.exact
        ? `exact${facts.axis ? bandNote(teller) : ""}; they add up to the difference between this sample and ${machine.rows.length ? "the mean over " : ""}${against}${sure ? whiskers : ""}`
        : `estimated from ${explained.count} orders of the features${facts.axis ? bandNote(teller) : ""}`,
      alt: `Bars of Shapley values; the largest is ${bars.labels[0]} with ${signed(bars.values[0])}.`,
      chart: facts.axis
        ? valueCurves(machine, row, atPoints(teller, shap), chartWidth(), "Shapley value", shapBars && atPoints(teller, shapBars))
        : barChart(bars.labels, bars.values, { bars: bars.bars }),
      head: ["feature", "value", "Shapley value", ...(sure ? ["±"] : [])],
      rows: teller.columns.map((column, c) => [column.name, cell(column, row), shap[c], ...(sure ? [shapBars[c]] : [])])
    }),
    facts.refits ? el("p", { class: "soft" }, barsMeaning(facts)) : null,
    facts.axis ? null : flipPart(machine, row),
    nearPart(machine, row)
  );
  explainHost.replaceChildren(...parts.filter((part) => part !== null));
}

function withinFigure(machine, explained, labels, width, whole = machine) {
  const r = state.vector,
    name = machine.labels[r] === "linear" ? "the linear part" : machine.labels[r],
    weight = machine.weights[r][state.output],
    values = Array.from(explained.within[r], (v) => v * weight),
    fall = largest(labels, values, 10);
  const box = el(
    "select",
    {
      id: "vector",
      onchange: () => {
        state.vector = Number(box.value);
        drawExplain(whole);
        document.getElementById("vector").focus();
      }
    },
    machine.weights.map((_, k) => el("option", { value: k, selected: k === r }, machine.labels[k]))
  );
  return el(
    "div",
    {},
    figure({
      title: `Features within ${name}`,
      note: `how they make up what ${name} adds`,
      alt: `Waterfall over features within ${name}.`,
      chart: machine.facts.axis
        ? curveChart(machine.facts, [{ name: "adds", values: atRead(machine.facts, atPoints(machine, values)) }], { width, yLabel: "adds", band: false })
        : waterfall(fall.labels, fall.values, 0, { first: "", last: `${name} adds`, width }),
      head: ["feature", `adds within ${name}`],
      rows: machine.columns.map((column, c) => [column.name, values[c]])
    }),
    el("div", { class: "controls" }, el("label", { for: "vector" }, "Another basis vector"), box)
  );
}

function flipPart(machine, row) {
  const { plain, facts } = machine;
  if (plain.task === "labels" || (plain.task === "regression" && plain.outputs.length > 1)) return null;
  const out = el("div", { role: "status", "aria-live": "polite", id: "flip" }),
    now = machine.engine.predict(row);
  let box, label;
  if (plain.task === "regression") {
    const usual = facts.samples.target && facts.samples.target.quartiles ? facts.samples.target.quartiles : [facts.survival ? 0 : now * 1.1];
    box = el("input", { type: "number", step: "any", id: "wanted", value: usual[Math.floor(usual.length / 2)] });
    label = "Smallest change that reaches the prediction";
  } else {
    const P = machine.engine.probabilities(row) || machine.engine.decision(row),
      others = plain.classes.filter((c) => c !== now);
    if (plain.classes.length > 2) others.sort((a, b) => P[plain.classes.indexOf(b)] - P[plain.classes.indexOf(a)]);
    box = el(
      "select",
      { id: "wanted" },
      others.map((c) => {
        const k = plain.classes.indexOf(c);
        return el("option", { value: String(k) }, facts.model.classes[k]);
      })
    );
    label = "Smallest change that makes it";
  }
  const together = new Set(machine.movers.flatMap(({ members }) => members || [])),
    tied = machine.columns.filter((column, c) => column.linked && !together.has(c)).map((column) => column.name),
    stays = tied.length ? ` ${tied.join(", ")} determine each other in the data, so they stay as they are.` : "";
  const search = () => {
    const wanted = plain.task === "regression" ? Number(box.value) : plain.classes[Number(box.value)],
      found = smallestChange(machine, row, wanted);
    if (!found.found) {
      out.replaceChildren(
        el(
          "p",
          {},
          found.proved
            ? "There is none: bounds over every box rule out all changes of one feature or two within the ranges seen."
            : "No change of one feature or two, within the ranges seen, was found; that is no proof that there is none.",
          stays
        )
      );
      return;
    }
    const changed = withChange(machine, row, found.changes);
    out.replaceChildren(
      found.changes.length
        ? table(
            ["feature", "from", "to", "deviations"],
            found.changes.map(([c, v]) => [
              machine.columns[c].name,
              cell(machine.columns[c], row),
              cell(machine.columns[c], changed),
              stepOf(machine, row, c, v)
            ]),
            { label: "Smallest change" }
          )
        : el("p", {}, "It is there already."),
      el("p", {}, `Then the prediction is ${answer(machine, changed).text}.`),
      el(
        "p",
        { class: "soft" },
        found.proved
          ? "Proved by bounds: no change of one feature or two within the ranges seen is smaller by more than 0.1 %."
          : "Found by a search; a smaller change may exist.",
        stays
      ),
      el(
        "button",
        {
          type: "button",
          onclick: () => {
            state.moved = changed;
            stale.add("what-if");
            selectTab("what-if");
          }
        },
        "Try it with sliders"
      )
    );
  };
  return el(
    "div",
    {},
    el("h3", {}, "What would have to change"),
    el(
      "div",
      { class: "controls" },
      el("label", { for: "wanted" }, label),
      box,
      el("button", { type: "button", id: "find", onclick: search }, "Find it")
    ),
    el("p", { class: "soft" }, "Of one feature or two, within the ranges seen; sizes are in standard deviations."),
    out
  );
}

function nearPart(machine, row) {
  const near = nearestRows(machine, row, 6)
    .filter(({ index }) => machine.rows[index].some((x, j) => x !== row[j]))
    .slice(0, 5);
  if (!near.length) return null;
  const { facts } = machine,
    top = facts.axis ? [] : byImportance(facts).slice(0, 6);
  const head = [
    "sample",
    "similarity",
    "prediction",
    ...(facts.rows.y ? ["target"] : []),
    ...top.map((column) => column.name)
  ];
  const rows = near.map(({ index, similarity }) => [
    String(facts.rows.index[index]),
    similarity,
    answer(machine, machine.rows[index]).text,
    ...(facts.rows.y
      ? [typeof facts.rows.y[index] === "number" ? facts.rows.y[index] : String(facts.rows.y[index])]
      : []),
    ...top.map((column) => cell(column, machine.rows[index]))
  ]);
  return el(
    "div",
    {},
    el("h3", {}, "Samples most like it"),
    el(
      "p",
      { class: "soft" },
      `in the model's own metric, among those in this file${top.length ? "; the columns that matter most" : ""}`
    ),
    table(head, rows, { label: "Nearest samples" }),
    copyButton("Copy as CSV", () => toCsv(head, rows))
  );
}
