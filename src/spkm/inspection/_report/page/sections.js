// What is said of the whole model: overview, quality, basis vectors, features, checks.
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

function overview(facts) {
  const { model, samples } = facts,
    target = samples.target;
  const looks = facts.checks.filter((check) => check.level === "look");
  const top = facts.features.read
    .slice()
    .sort((a, b) => b.variance - a.variance)
    .slice(0, 10);
  return [
    ...beforeReading(looks),
    el("h2", {}, "In short"),
    model.formula ? el("details", {}, el("summary", {}, "As a formula"), el("pre", {}, model.formula)) : null,
    facts.quality
      ? el(
          "p",
          {},
          "On ",
          fmt(facts.quality.n),
          " samples: ",
          facts.quality.metrics
            .slice(0, 3)
            .map(
              (m) => `${m.name} ${fmt(m.value, 3)}${m.low === null ? "" : ` (${fmt(m.low, 3)} to ${fmt(m.high, 3)})`}`
            )
            .join(", "),
          facts.quality.metrics.some((m) => m.low !== null) ? "; in brackets 95 % intervals." : "."
        )
      : el("p", {}, "No targets were given, so nothing is said of its quality."),
    looks.length ? null : el("p", {}, `None of ${facts.checks.length} checks asks for attention.`),
    figure({
      title: "The features that matter most",
      note: importanceNote(facts),
      alt: `Bars of the ${top.length} features that matter most; the first is ${top.length ? top[0].name : "none"}.`,
      chart: barChart(
        top.map((f) => f.name),
        top.map((f) => f.variance),
        { format: (v) => percent(v, 1), plain: true }
      ),
      head: ["feature", "share of variance", "alone", "shape of the effect"],
      rows: top.map((f) => [f.name, share(f.variance), share(f.alone), f.effect ? f.effect.shapes.join(" ") : "–"])
    }),
    el("h2", {}, "What it was fitted on"),
    definitionTable(
      [
        ["estimator", model.estimator],
        ["recipe of the fit", model.recipe],
        [
          "settings that are not defaults",
          Object.entries(model.settings)
            .map(([k, v]) => `${k}=${v}`)
            .join(", ") || "none"
        ],
        ["loss", model.loss],
        ["basis vectors", model.n_basis],
        ["features it reads", `${model.n_read} of ${model.n_features}`],
        ["training samples", samples.n_train === null ? "not given" : samples.n_train],
        ["samples of this report", samples.n],
        ["samples in this file", samples.privacy === "aggregate" ? "none: aggregates only" : samples.n_shipped],
        ["classes", target && target.classes ? target.classes.map(([name, n]) => `${name}: ${n}`).join(", ") : null],
        ["target, quartiles", target && target.quartiles ? target.quartiles.map((v) => fmt(v)).join(", ") : null],
        ["views", model.views.length ? model.views.join(", ") : null]
      ],
      "What it was fitted on"
    ),
    el("h2", {}, "Cautions"),
    el(
      "ul",
      {},
      facts.cautions.map((text) => el("li", {}, text))
    )
  ];
}

// What a reader must know first: each check that found something, in its own sentence.
function beforeReading(looks) {
  if (!looks.length) return [];
  return [
    el("h2", {}, "Before you read on"),
    el(
      "ul",
      { class: "looks" },
      looks.map((c) => el("li", {}, el("strong", { class: "warn" }, `${c.title}? `), c.detail, " ", el("span", { class: "soft" }, c.remedy)))
    )
  ];
}

function importanceNote(facts) {
  return facts.features.independent
    ? "share of the scores' variance that a feature has a part in, features taken as independent of one another"
    : "share of the scores' change when a feature takes its median";
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
      if (quality.outputs.length > 1) parts.push(el("h3", {}, `Output ${output.name}`));
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
    return parts;
  }
  parts.push(metricTable(quality.metrics, quality.baseline, "Metrics"));
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
  return parts;
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
