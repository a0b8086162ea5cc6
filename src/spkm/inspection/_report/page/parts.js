// What the model is made of: basis vectors and features.
function basisSection(facts, machine) {
  const { cards, left_out: left, n_dead: dead } = facts.basis,
    { outputs } = facts.model;
  return [
    el("h2", {}, "Basis vectors"),
    el(
      "p",
      {},
      "The model is a weighted sum of similarities to these. A vector is like a sample: where it lies in each feature is told in the units of the data."
    ),
    left ? el("p", { class: "soft" }, `${left} more with smaller shares are not shown.`) : null,
    dead ? el("p", { class: "soft" }, `${dead} more have a weight of zero and are not shown.`) : null,
    el(
      "div",
      { class: "cards" },
      cards.map((card) => basisCard(facts, card, outputs, machine))
    )
  ];
}

function basisCard(facts, card, outputs, machine) {
  const known = new Map(facts.features.read.map((f) => [f.name, f]));
  const features = card.features.map(([name, value, deviation]) => [
    known.get(name) || { name, unit: "" },
    value,
    deviation
  ]);
  const names = features.map(([f]) => f.name),
    unit = (f) => (f.unit ? ` ${f.unit}` : "");
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
    el(
      "p",
      { class: "soft" },
      `${percent(card.share, 1)} of the variance of the scores${card.share < 0 ? " (below zero: others correct it)" : ""}; the vector most like ${percent(card.count)} of the samples. `,
      `Similarities: median ${fmt(card.spread[2], 3)}, middle 90 % from ${fmt(card.spread[0], 3)} to ${fmt(card.spread[4], 3)}.`
    ),
    features.length
      ? figure({
          title: "What sets it apart",
          note: "dot: the vector, with its value; grey: one standard deviation around the mean",
          alt: `Deviations of ${card.name} from the mean in ${names.length} features.`,
          chart: deviationChart(
            names,
            features.map((f) => f[2]),
            features.map(([f, v]) => fmt(v) + unit(f)),
            chartWidth(400)
          ),
          head: ["feature", "value", "unit", "deviations"],
          rows: features.map(([f, v, d]) => [f.name, v, f.unit, d])
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
  const { read, points } = facts.features,
    outputs = facts.model.outputs,
    order = read.slice().sort((a, b) => b.variance - a.variance);
  const grid = (f) => Array.from({ length: points }, (_, k) => f.low + ((f.high - f.low) * k) / (points - 1));
  const stable = order.some((f) => f.stability !== null),
    folds = order.some((f) => f.folds !== null),
    curves = order.filter((f) => f.effect !== null && f.high > f.low);
  const units = order.some((f) => f.unit !== "");
  const head = [
    "feature",
    ...(units ? ["unit"] : []),
    "lowest",
    "median",
    "highest",
    "variance",
    "alone",
    ...(stable ? ["chosen on halves"] : []),
    ...(folds ? ["chosen by folds"] : []),
    "shape of the effect"
  ];
  const rows = order.map((f) => [
    f.name,
    ...(units ? [f.unit] : []),
    f.low,
    f.median,
    f.high,
    share(f.variance),
    share(f.alone),
    ...(stable ? [share(f.stability, 0)] : []),
    ...(folds ? [share(f.folds, 0)] : []),
    f.effect ? f.effect.shapes.slice(0, 10).join(" ") : "–"
  ]);
  const chart = (f) =>
    figure({
      title: f.name,
      note: `${percent(f.variance, 1)} of the variance`,
      alt: `Mean score against ${f.name}: ${f.effect.shapes
        .slice(0, 6)
        .map((shape, o) => (outputs.length > 1 ? `${outputs[o]} ` : "") + shape)
        .join(", ")}.`,
      chart: lineChart(
        grid(f),
        f.effect.values.slice(0, 6).map((values, o) => ({ name: outputs[o], values })),
        {
          xLabel: f.name + (f.unit ? `, ${f.unit}` : ""),
          yLabel: outputs.length > 1 ? "mean score" : `mean ${facts.model.score_names[0]}`,
          width: chartWidth(420)
        }
      ),
      head: [f.name, ...outputs.slice(0, f.effect.values.length)],
      rows: grid(f).map((x, k) => [x, ...f.effect.values.map((values) => values[k])])
    });
  return [
    el("h2", {}, "Features"),
    el(
      "p",
      {},
      `${importanceNote(facts)[0].toUpperCase()}${importanceNote(facts).slice(1)}.`,
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
          stable ? "; see the share of random halves beside it." : ". A stability selection on random halves would tell."
        )
      : null,
    table(head, rows, { label: "Features" }),
    copyButton("Copy as CSV", () => toCsv(head, rows)),
    el("h2", {}, "Effects"),
    el(
      "p",
      {},
      "The mean score over the samples when one feature is held fixed.",
      outputs.length > 6
        ? ` Of the scores the first six are drawn; the tables have ${Math.min(outputs.length, 12)}.`
        : "",
      curves.length < order.length ? ` The ${curves.length} features that matter most have a curve.` : ""
    ),
    el(
      "div",
      { class: "cards" },
      curves.map((f) => el("div", { class: "card" }, chart(f)))
    )
  ];
}
