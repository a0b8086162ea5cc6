// The page of two tables: for each component its features on both sides, and the two scores of samples.
const facts = JSON.parse(document.getElementById("facts").textContent);

// Samples by their two scores; a line where a perfect correlation would have them.
function scatterChart(points, labels, width = chartWidth(460)) {
  const height = Math.min(380, width),
    xs = points.map((p) => p[0]),
    ys = points.map((p) => p[1]),
    yTicks = ticks(Math.min(...ys), Math.max(...ys), 4),
    box = { left: leftRoom(yTicks, 48), right: width - 12, bottom: height - 42, top: 24 },
    x = scaleOf(Math.min(...xs), Math.max(...xs), box.left + 6, box.right - 6),
    y = scaleOf(Math.min(...ys), Math.max(...ys), box.bottom - 6, box.top + 6),
    chart = frame(width, height),
    low = Math.max(Math.min(...xs), Math.min(...ys)),
    high = Math.min(Math.max(...xs), Math.max(...ys));
  axes(chart, x, y, box, labels[0], labels[1], ticks(Math.min(...xs), Math.max(...xs), 4), yTicks);
  if (high > low) chart.append(svg("line", { x1: x(low), x2: x(high), y1: y(low), y2: y(high), class: "mark" }));
  for (const p of points) chart.append(svg("circle", { cx: x(p[0]).toFixed(1), cy: y(p[1]).toFixed(1), r: 3, class: "dot", opacity: 0.55 }));
  return chart;
}

function weightFigure(one, side) {
  const name = facts.tables[side],
    axis = facts.axes[side],
    entries = one.entries[side],
    left = one.left_out[side];
  const rows = entries.map((e) => [e.name, e.weight, e.vector, e.shape]);
  return figure({
    title: `${name}: weights of its features`,
    note:
      axis !== null
        ? "weight of every feature; zero where it has no influence"
        : `${entries.length} ${entries.length === 1 ? "feature has a weight" : "features have weights"}${left ? `, ${left} more have smaller ones` : ""}; all others have none`,
    alt: `Weights of features of ${name}: ${entries.map((e) => `${e.name} ${signed(e.weight, 2)}`).join(", ")}.`,
    chart:
      axis !== null
        ? lineChart(axis.values, [{ name: "weight", values: one.weights[side] }], { xLabel: axis.label, yLabel: "weight", width: chartWidth(460) })
        : barChart(entries.map((e) => e.name), entries.map((e) => e.weight), { width: chartWidth(460) }),
    head: ["feature", "weight", "vector", "effect on the score"],
    rows
  });
}

function effectFigures(one) {
  return one.entries.flatMap((entries, side) =>
    entries
      .filter((e) => e.effect !== null && e.grid.length > 1)
      .map((e) =>
        figure({
          title: `${e.name} of ${facts.tables[side]}: ${e.shape}`,
          note: "mean score of the samples if the feature had this value",
          alt: `The score ${e.shape} along ${e.name}.`,
          chart: lineChart(e.grid, [{ name: "score", values: e.effect }], { xLabel: e.name, yLabel: "score", width: chartWidth(460) }),
          head: [e.name, "score"],
          rows: e.grid.map((value, k) => [value, e.effect[k]])
        })
      )
  );
}

function relationPart(one) {
  const scores = facts.tables.map((name) => `score of ${name}`),
    effects = effectFigures(one);
  return [
    el("h2", {}, one.name),
    el("p", {}, minus(one.sentence.replace(/^[^:]*? relates/, "It relates"))),
    table(
      ["correlation", "value", "low", "high", "p"],
      [
        [`on the ${facts.n} samples of this page`, one.correlation, ...one.interval, one.p_value],
        ["held out by the fit", one.validation, null, null, null],
        ["on the samples of the fit", one.training, null, null, null]
      ],
      { label: `Correlations of ${one.name}` }
    ),
    el("div", { class: "pair" }, weightFigure(one, 0), weightFigure(one, 1)),
    one.points === null
      ? el("p", { class: "soft" }, "Scores of samples are not in this file: it was written for aggregates alone.")
      : figure({
          title: "The two scores",
          note: `dots: ${one.points.length} of ${facts.n} samples; dashed: equal scores`,
          alt: `Scatter of the two scores, with a correlation of ${fmt(one.correlation, 2)}.`,
          chart: scatterChart(one.points, scores),
          head: ["sample", ...scores],
          rows: one.points.map((p, k) => [one.rows[k], ...p])
        }),
    effects.length ? el("h3", {}, "How the features move the scores") : null,
    el("div", { class: "pair" }, effects)
  ];
}

function buildPage() {
  document.getElementById("main").replaceChildren(
    ...facts.answer.slice(1).map((text) => el("p", {}, minus(text))),
    ...facts.cautions.map((text) => el("p", { class: "notice" }, el("strong", {}, "Caution: "), minus(text))),
    ...facts.relations.map((one) => el("section", {}, relationPart(one))),
    el("h2", {}, "How to read this page"),
    el(
      "p",
      {},
      "A component is a score of each table, a kernel function of few features. The correlation of the two scores is judged on the samples of this page; p is the share of random orders of the samples that correlate as much. Features that are not listed have no influence. The vector is where a kernel of a distance is centred, and for a kernel of a dot product the direction, in the units of the table."
    ),
    el("div", { class: "controls" }, copyButton("Copy all facts as JSON", () => JSON.stringify(facts)))
  );
}

document.getElementById("tabs").remove();
document.getElementById("verified").textContent = `Judged on ${facts.n} samples.`;
document.getElementById("foot").textContent =
  `Made by spkm ${facts.versions.spkm}. No data leaves this page: it makes no requests.`;
buildPage();
let drawn = document.documentElement.clientWidth;
window.addEventListener("resize", () => {
  if (Math.abs(document.documentElement.clientWidth - drawn) < 30) return;
  drawn = document.documentElement.clientWidth;
  buildPage();
});
