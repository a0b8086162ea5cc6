// Quality and checks.
const LEVELS = { pass: "✓ passed", look: "▲ worth a look", none: "– not run" };

function definitionTable(pairs, label) {
  return table(
    ["", ""],
    pairs
      .filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([name, value]) => [name, String(value)]),
    { label, class: "pairs" }
  );
}

function metricTable(metrics, baseline, label) {
  const rows = metrics.map((m) => [
    m.name,
    m.value,
    m.low === null ? "–" : `${fmt(m.low)} to ${fmt(m.high)}`,
    m.better + " is better"
  ]);
  if (baseline) rows.push([baseline.name, baseline.value, "–", "for comparison"]);
  return table(["metric", "value", "95 % interval", ""], rows, { label });
}

function confusionTable(facts) {
  const { confusion } = facts.quality,
    names = facts.model.classes;
  const cell = (count, i, j) => {
    const total = confusion[i].reduce((a, b) => a + b, 0) || 1,
      part = count / total;
    return el(
      "td",
      {
        class: i === j ? "right" : null,
        style: `background: color-mix(in srgb, var(--accent) ${Math.round(38 * part)}%, var(--paper))`,
        title: `${names[i]} taken for ${names[j]}: ${count} of ${total}`
      },
      count
    );
  };
  return el(
    "figure",
    {},
    el(
      "figcaption",
      {},
      "Confusion",
      el("span", { class: "soft" }, "rows: the truth, columns: predictions; framed: right. Shading: share of the row.")
    ),
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Confusion matrix" },
      el(
        "table",
        { class: "confusion" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("th", {}, "truth ↓ prediction →"),
            names.map((name) => el("th", { scope: "col" }, name))
          )
        ),
        el(
          "tbody",
          {},
          confusion.map((row, i) =>
            el(
              "tr",
              {},
              el("th", { scope: "row" }, names[i]),
              row.map((count, j) => cell(count, i, j))
            )
          )
        )
      )
    ),
    copyButton("Copy as CSV", () =>
      toCsv(
        ["truth", ...names],
        confusion.map((row, i) => [names[i], ...row])
      )
    )
  );
}

function qualitySection(facts) {
  const quality = facts.quality;
  if (quality === null)
    return [
      el("h2", {}, "Quality"),
      el("p", {}, "No targets were given. Make the report with y to see how good the model is.")
    ];
  const parts = [el("h2", {}, `Quality on ${quality.n} samples`), el("p", { class: "soft" }, `${quality.note}.`)];
  if (quality.outputs) {
    quality.outputs.forEach((output) => {
      if (quality.outputs.length > 1) parts.push(el("h3", {}, output.name));
      parts.push(metricTable(output.metrics, output.baseline, "Metrics"));
      parts.push(
        figure({
          title: "Errors against predictions",
          note: "line: median error; grey: the middle 80 % of errors; dashes: no error",
          alt: "Median and middle 80 percent of the errors in ten groups of samples by prediction.",
          chart: residualChart(output.residuals),
          head: ["mean prediction", "10 % of errors below", "median error", "90 % of errors below", "samples"],
          rows: output.residuals
        })
      );
    });
    return [...parts, ...targetFigures(quality), ...groupTables(facts)];
  }
  parts.push(metricTable(quality.metrics, quality.baseline, "Metrics"));
  if (facts.survival) parts.push(...survivalCalibration(facts));
  if (facts.order) parts.push(orderFigure(facts));
  if (quality.labels)
    parts.push(
      table(
        ["label", "share of samples", "accuracy", "precision", "recall"],
        quality.labels.map((l) => [l.name, l.share, l.accuracy, l.precision, l.recall]),
        { label: "Labels" }
      )
    );
  if (quality.confusion) parts.push(confusionTable(facts));
  if (quality.calibration) {
    const what = quality.calibration.of === "second class" ? `of ${facts.model.classes[1]}` : "of the predicted class";
    parts.push(
      figure({
        title: `Calibration: probability ${what}`,
        note: `dots: tenths of the samples with 95 % intervals; dashes: perfect. Off by ${fmt(quality.calibration.error, 2)} on average.`,
        alt: `Predicted probability against how often it happened, in ${quality.calibration.bins.length} groups.`,
        chart: calibrationChart(quality.calibration.bins),
        head: ["mean probability", "share that happened", "low", "high", "samples"],
        rows: quality.calibration.bins
      })
    );
  }
  return [...parts, ...targetFigures(quality), ...groupTables(facts)];
}

// Figures that a kind of target has beside the usual ones: curves or bars, with their numbers.
function targetFigures(quality) {
  return (quality.figures || []).map((one) =>
    figure({
      ...one,
      chart: one.lines
        ? lineChart(one.lines.x, one.lines.series, { xLabel: one.lines.x_label, yLabel: one.lines.y_label, height: 280 })
        : barChart(one.bars.labels, one.bars.values, { plain: true, format: (v) => fmt(v, 3) })
    })
  );
}

// Every group with its figures, and what lies furthest apart.
function groupTables(facts) {
  return (facts.by_group || []).flatMap((one) => [
    el("h3", {}, `By ${one.name}`),
    one.gap ? el("p", { class: one.gap.sure ? "warn" : null }, minus(one.gap.text)) : null,
    one.n_few ? el("p", { class: "soft" }, `${one.n_few} groups of fewer than ten samples are listed, but not compared.`) : null,
    table(one.head, one.rows, { label: `Quality by ${one.name}` }),
    copyButton("Copy as CSV", () => toCsv(one.head, one.rows))
  ]);
}

function checkSection(facts) {
  const order = ["look", "pass", "none"],
    sorted = facts.checks.slice().sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
  return [
    el("h2", {}, "Checks"),
    table(
      ["code", "check", "result", "what was found", "what to do"],
      sorted.map((c) => [
        c.code,
        c.title,
        el(
          "span",
          { class: "level " + (c.level === "look" ? "warn" : c.level === "pass" ? "good" : "soft") },
          LEVELS[c.level]
        ),
        c.detail,
        c.remedy
      ]),
      { label: "Checks" }
    ),
    el("h2", {}, "Versions"),
    definitionTable(Object.entries(facts.versions), "Versions"),
    el("h2", {}, "Numbers"),
    el("p", {}, "Everything on this page comes from the data in it, which you can take along."),
    el(
      "div",
      { class: "controls" },
      copyButton("Copy all facts as JSON", () => JSON.stringify(facts)),
      facts.rows
        ? copyButton("Copy the samples as CSV", () =>
            toCsv(
              ["sample", ...facts.features.read.map((f) => f.name), ...(facts.rows.y ? ["target"] : [])],
              unpackRows(facts.rows).map((row, i) => [
                facts.rows.index[i],
                ...row,
                ...(facts.rows.y ? [facts.rows.y[i]] : [])
              ])
            )
          )
        : null
    )
  ];
}
