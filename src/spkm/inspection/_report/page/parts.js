// What the model is made of: basis vectors and features.
function basisSection(facts, machine) {
  const { cards, left_out: left, n_dead: dead } = facts.basis,
    { outputs } = facts.model;
  return [
    el("h2", {}, "Basis vectors"),
    el(
      "p",
      {},
      "The model is a weighted sum of similarities to these. A vector is like a sample: its values are in the units of the data."
    ),
    left ? el("p", { class: "soft" }, `${left} more with smaller shares are not shown.`) : null,
    dead ? el("p", { class: "soft" }, `${dead} more have a weight of zero and are not shown.`) : null,
    ...editPart(machine),
    el(
      "div",
      { class: "cards" },
      cards.map((card) => basisCard(facts, card, outputs, machine))
    )
  ];
}

function basisCard(facts, card, outputs, machine) {
  const known = new Map(facts.columns.map((c) => [c.name, c])),
    unit = (name) => (known.has(name) && known.get(name).unit ? ` ${known.get(name).unit}` : "");
  const text = ([name, value]) => (typeof value === "string" ? value : fmt(value) + unit(name));
  const weights =
    outputs.length === 1
      ? el(
          "p",
          {},
          `Weight ${signed(card.weights[0])}: likeness to it ${card.weights[0] >= 0 ? "raises" : "lowers"} the ${facts.model.score_names[0]}.`
        )
      : figure({
          title: "Weights",
          alt: `Weights of ${card.name} for the scores.`,
          chart: barChart(outputs, card.weights, { width: chartWidth(400) }),
          head: ["score of", "weight"],
          rows: outputs.map((o, k) => [o, card.weights[k]])
        });
  return el(
    "article",
    { class: "card" },
    el("h3", {}, card.name, card.part ? ` (${card.part})` : ""),
    card.caution ? el("p", { class: "warn" }, `▲ ${card.caution}`) : null,
    weights,
    editControls(machine, card),
    el(
      "p",
      { class: "soft" },
      `It moves the score by ±${fmt(card.swing, 3)} over the samples, whose scores vary by ±${fmt(facts.basis.spread, 3)}; of all vectors it is the most similar one to ${percent(card.count)} of the samples. `,
      `Similarities: median ${fmt(card.spread[2], 3)}, middle 90 % from ${fmt(card.spread[0], 3)} to ${fmt(card.spread[4], 3)}.`,
      card.kept === null ? "" : ` Over refits of other samples of the same kind it stays at a similarity of ${fmt(card.kept, 2)} to itself (1 is still).`
    ),
    card.entities ? vectorEntities(facts, card) : null,
    facts.axis ? vectorCurve(facts, card, chartWidth(400), machine) : null,
    card.features.length
      ? figure({
          title: "What sets it apart",
          note: `dot: the vector; grey: one standard deviation around the mean${card.features.some((f) => f[2] === null) ? "; of a category its levels, with their entries" : ""}`,
          alt: `Deviations of ${card.name} from the mean in ${card.features.length} columns.`,
          chart: deviationChart(
            card.features.map((f) => f[0]),
            card.features.map((f) => f[2]),
            card.features.map(text),
            chartWidth(400)
          ),
          head: ["column", "value", "deviations"],
          rows: card.features.map((f) => [f[0], text(f), f[2]])
        })
      : null,
    card.classes
      ? figure({
          title: "Mean similarity by class",
          alt: `Mean similarity to ${card.name} of the samples of each class.`,
          chart: barChart(
            card.classes.map((c) => c[0]),
            card.classes.map((c) => c[1] ?? 0),
            { format: (v) => fmt(v, 3), plain: true, width: chartWidth(400) }
          ),
          head: ["class", "mean similarity"],
          rows: card.classes
        })
      : null,
    card.nearest.length && facts.rows
      ? el(
          "p",
          {},
          "Samples most like it: ",
          card.nearest.map(([i, s], k) => [
            k ? ", " : "",
            el(
              "button",
              { type: "button", onclick: () => showRow(machine, machine.rows[i], `sample ${facts.rows.index[i]}`) },
              `${facts.rows.index[i]}`
            ),
            ` (${fmt(s, 2)})`
          ])
        )
      : null
  );
}

function featureSection(facts) {
  const order = byImportance(facts),
    outputs = facts.model.outputs,
    stable = order.some((c) => c.stability !== null),
    folds = order.some((c) => c.folds !== null),
    bars = order.some((c) => c.bar !== null),
    units = order.some((c) => c.unit !== ""),
    ends = (c) => (c.options === null ? facts.features.read[c.features[0]] : { low: null, median: null, high: null }),
    proved = facts.model.monotone;
  const shape = (c) =>
    c.name in proved
      ? `${proved[c.name] > 0 ? "rises" : "falls"} (proved)`
      : c.effect
        ? c.effect.shapes.slice(0, 10).join(" ")
        : "–";
  const head = [
    "column",
    ...(units ? ["unit"] : []),
    "lowest",
    "median",
    "highest",
    facts.features.independent ? "with others" : "change",
    ...(bars ? ["±"] : []),
    ...(facts.features.independent ? ["alone"] : []),
    ...(stable ? ["chosen on halves"] : []),
    ...(folds ? ["chosen by folds"] : []),
    "effect"
  ];
  const rows = order.map((c) => [
    c.name,
    ...(units ? [c.unit] : []),
    ends(c).low,
    ends(c).median,
    ends(c).high,
    part(c.variance),
    ...(bars ? [c.bar] : []),
    ...(facts.features.independent ? [part(c.alone)] : []),
    ...(stable ? [share(c.stability, 0)] : []),
    ...(folds ? [share(c.folds, 0)] : []),
    shape(c)
  ]);
  const note = importanceNote(facts);
  return [
    el("h2", {}, "Features"),
    el(
      "p",
      {},
      `Importance is ${note}.`,
      facts.features.n_unread
        ? ` ${facts.features.n_unread} columns of the table have no influence on any prediction.`
        : "",
      facts.features.left_out ? ` ${facts.features.left_out} features that matter less are not listed.` : ""
    ),
    folds
      ? el(
          "p",
          { class: "soft" },
          "Chosen by folds: the share of the search's folds that chose the feature. Folds share most of their samples, so new samples would choose it less often",
          stable ? "; the share of random halves of the samples is beside it." : ". A stability selection on random halves would tell."
        )
      : null,
    table(head, rows, { label: "Features" }),
    copyButton("Copy as CSV", () => toCsv(head, rows)),
    ...effectPart(facts, order, outputs)
  ];
}

// Effects on one scale, so that small ones look small; a switch gives each its own.
function effectPart(facts, order, outputs) {
  const curves = order.filter(
      (c) => c.effect !== null && (c.effect.levels !== null || facts.features.read[c.features[0]].high > facts.features.read[c.features[0]].low)
    ),
    shared = effectRange(facts),
    host = el("div", { class: "cards", id: "effects" });
  const own = (c) => outputs.slice(0, c.effect.values.length),
    head = (c) => [c.name, ...own(c), ...(c.effect.bars ? own(c).map((name) => `${name} ±`) : [])],
    rows = (c) =>
      (c.effect.levels || effectGrid(facts, c)).map((x, k) => [
        x,
        ...c.effect.values.map((values) => values[k]),
        ...(c.effect.bars || []).map((bars) => bars[k])
      ]);
  const chart = (c, range) =>
    figure({
      title: c.name,
      note: c.name in facts.model.monotone ? "its direction is proved, for every sample there can be" : null,
      alt: `Mean score against ${c.name}: ${c.effect.shapes
        .slice(0, 6)
        .map((shape, o) => (outputs.length > 1 ? `${outputs[o]} ` : "") + shape)
        .join(", ")}.`,
      chart: effectChart(facts, c, range, chartWidth(420)),
      head: head(c),
      rows: rows(c)
    });
  const draw = (same) => host.replaceChildren(...curves.map((c) => el("div", { class: "card" }, chart(c, same ? shared : null))));
  const box = el("input", { type: "checkbox", id: "same-scale", checked: true, onchange: () => draw(box.checked) });
  draw(true);
  if (!curves.length) return [];
  return [
    el("h2", {}, "Effects"),
    el(
      "p",
      {},
      "The mean score over the samples when one column is held fixed.",
      curves.some((c) => c.effect.bars)
        ? " Bands and whiskers are 90 % error bars: how much the effect would vary over other samples of the same kind, without the bias that all of these models share."
        : "",
      outputs.length > 6
        ? ` Of the scores the first six are drawn; the tables have ${Math.min(outputs.length, 12)}.`
        : "",
      curves.length < order.length ? ` The ${curves.length} columns that matter most have one.` : ""
    ),
    el("div", { class: "controls" }, box, el("label", { for: "same-scale" }, "One scale for all")),
    host
  ];
}
