// What if a feature were different, and where two rows part.
function drawWhatIf(machine, all = false) {
  const order = changeable(machine),
    shown = all ? order : order.slice(0, 12),
    live = el("div", { role: "status", "aria-live": "polite", id: "what-if-answer" }),
    changes = el("p", { class: "soft", id: "what-if-changes" }),
    drawn = el("div", { id: "what-if-drawn" });
  const update = () => {
    live.replaceChildren(
      answerBox(machine, state.moved, "Now", null),
      el(
        "p",
        { class: "soft" },
        `Before: ${answer(machine, state.row).text}, ${answer(machine, state.row).detail} (${state.title}).`,
        machine.facts.refits ? shiftText(machine) : ""
      )
    );
    if (facts.order || facts.survival) drawn.replaceChildren(...targetParts(machine, state.moved, state.row));
    const moved = machine.columns
      .filter((column) => column.features.some((j) => state.moved[j] !== state.row[j]))
      .map((column) => `${column.name} ${cellText(column, state.row)} → ${cellText(column, state.moved)}`);
    if (machine.facts.axis) changes.textContent = "";
    else changes.textContent = moved.length
      ? `Changed: ${moved.slice(0, 8).join("; ")}${moved.length > 8 ? ` and ${moved.length - 8} more` : ""}.`
      : "Nothing is changed yet.";
  };
  const control = (c) =>
    machine.columns[c].options === null ? sliderOf(machine, c, update) : levelsOf(machine, c, update);
  update();
  whatIfHost.replaceChildren(
    live,
    changes,
    drawn,
    el(
      "div",
      { class: "controls" },
      el(
        "button",
        {
          type: "button",
          onclick: () => {
            state.moved = state.row.slice();
            drawWhatIf(machine, all);
          }
        },
        "Back to the sample"
      ),
      el(
        "button",
        { type: "button", onclick: () => showRow(machine, state.moved, "changed sample") },
        "Explain what is set"
      ),
      order.length > 12 && !machine.facts.axis
        ? el(
            "button",
            { type: "button", onclick: () => drawWhatIf(machine, !all) },
            all ? "Show the 12 that matter most" : `Show all ${order.length}`
          )
        : null
    ),
    ...(machine.facts.axis ? bumpControls(machine, update) : [el("div", { class: "sliders" }, shown.map(control))])
  );
}

// A number: a slider, a box, and where it may be missing a mark for that.
function sliderOf(machine, c, update) {
  const column = machine.columns[c],
    [j, indicator] = column.features,
    f = machine.features[j],
    id = `slide-${j}`;
  const box = el("input", {
    type: "number",
    step: "any",
    min: f.low,
    max: f.high,
    value: state.moved[j],
    id: `${id}-number`,
    "aria-label": `${column.name}, as a number`
  });
  const bar = el("input", {
    type: "range",
    min: f.low,
    max: f.high,
    step: f.whole ? 1 : "any",
    value: state.moved[j],
    id
  });
  const gone =
    column.missing === null
      ? null
      : el("input", { type: "checkbox", id: `${id}-missing`, checked: isMissing(column, state.moved) });
  const say = () => {
    bar.setAttribute("aria-valuetext", cellText(column, state.moved) + (f.unit ? ` ${f.unit}` : ""));
    bar.disabled = box.disabled = isMissing(column, state.moved);
  };
  const set = (value, from) => {
    state.moved[j] = value;
    if (from !== box) box.value = Number(value.toPrecision(8));
    if (from !== bar) bar.value = value;
    say();
    update();
  };
  bar.addEventListener("input", () => set(Number(bar.value), bar));
  bar.addEventListener("keydown", (event) => {
    // a step of "any" leaves the size of a key's step to the browser
    const sign = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    if (!sign) return;
    event.preventDefault();
    const by = f.whole ? Math.max(1, Math.round((f.high - f.low) / 100)) : (f.high - f.low) / 100;
    set(Math.max(f.low, Math.min(f.high, state.moved[j] + sign * by)), null);
  });
  box.addEventListener("change", () => set(Math.max(f.low, Math.min(f.high, Number(box.value) || 0)), null));
  if (gone !== null)
    gone.addEventListener("change", () => {
      state.moved[indicator] = gone.checked ? 1 : 0;
      set(gone.checked ? column.missing : state.moved[j], null);
    });
  say();
  return el(
    "div",
    { class: "slider" },
    el("div", { class: "head" }, el("label", { for: id }, column.name, f.unit ? `, ${f.unit}` : ""), box),
    bar,
    el("div", { class: "ends" }, el("span", {}, fmt(f.low)), el("span", {}, fmt(f.high))),
    gone === null ? null : el("label", { class: "soft" }, gone, " missing")
  );
}

// A category: a list of its levels.
function levelsOf(machine, c, update) {
  const column = machine.columns[c],
    id = `level-${c}`,
    now = levelOf(column, state.moved);
  const box = el(
    "select",
    { id },
    now < 0 ? el("option", { value: -1, selected: true, disabled: true }, "(none of its levels)") : null,
    column.options.map(([label], k) => el("option", { value: k, selected: k === now }, label))
  );
  box.addEventListener("change", () => {
    setColumn(column, state.moved, Number(box.value));
    update();
  });
  return el("div", { class: "slider" }, el("div", { class: "head" }, el("label", { for: id }, column.name)), box);
}

function drawCompare(machine) {
  const { facts } = machine,
    score = facts.model.score_names[state.output],
    teller = facts.axis ? tellerOf(machine) : machine,
    both = [state.row, state.other].map((row) => shapleyValues(teller, row)),
    o = state.output;
  const gaps = teller.columns.map((_, c) => both[1].values[c][o] - both[0].values[c][o]),
    order = teller.columns.map((_, c) => c).sort((a, b) => Math.abs(gaps[b]) - Math.abs(gaps[a]));
  const apart = (one) => {
    const [a, b] = [state.row, state.other].map((row) => shapleyValues(one, row).values);
    return b.map((own, c) => own[o] - a[c][o]);
  };
  const sure = facts.refits && shapleyBars(teller, both[0], apart);
  const fall = largest(
    teller.columns.map((column) => `${column.name}: ${cellText(column, state.row)} → ${cellText(column, state.other)}`),
    gaps,
    12,
    sure
  );
  const head = ["feature", "A", "B", "Shapley value A", "Shapley value B", "difference", ...(sure ? ["±"] : [])],
    rows = order.map((c) => [
      teller.columns[c].name,
      cell(teller.columns[c], state.row),
      cell(teller.columns[c], state.other),
      both[0].values[c][o],
      both[1].values[c][o],
      gaps[c],
      ...(sure ? [sure[c]] : [])
    ]);
  compareHost.replaceChildren(
    el(
      "div",
      { class: "pair" },
      answerBox(machine, state.row, `A, ${state.title}`, truthOf(facts, state.title)),
      answerBox(machine, state.other, `B, ${state.otherTitle}`, truthOf(facts, state.otherTitle))
    ),
    figure({
      title: "From A to B",
      note: `how the differences between the features change the ${score}${sure ? `; ${BARS_NOTE}` : ""}`,
      alt: `Waterfall of the differences of Shapley values; the largest is ${fall.labels[0]}.`,
      chart: facts.axis
        ? curveChart(
            facts,
            both.map((one, k) => ({ name: k ? "B" : "A", values: atRead(facts, atPoints(teller, one.values.map((own) => own[o]))) })),
            { yLabel: "Shapley value", band: false }
          )
        : waterfall(fall.labels, fall.values, both[0].scores[o], { first: "A", last: "B", bars: fall.bars }),
      head,
      rows
    })
  );
}
