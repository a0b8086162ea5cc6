// The first part of the page: the answer, what to mind, one picture of it all, then what belongs to the kind of model.

function bytesOf(letters) {
  return Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0)).buffer;
}

// Nested data with tables of basis vectors as numbers: they come as bytes, equal numbers and 0, 1, 2 and so on in short.
function withNumbers(value) {
  if (Array.isArray(value)) return value.map(withNumbers);
  if (value === null || typeof value !== "object") return value;
  if ("same" in value) return new Array(value.count).fill(value.same);
  if ("below" in value) return Array.from({ length: value.below }, (_, k) => k);
  if ("bytes" in value) {
    const all = Array.from(new Float64Array(bytesOf(value.bytes))),
      rows = [];
    if (value.width === 0) return all;
    for (let i = 0; i < all.length; i += value.width) rows.push(all.slice(i, i + value.width));
    return rows;
  }
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, withNumbers(part)]));
}

// Columns of samples as first, digits and codes, which come as bytes together.
function columnsOf({ first, digits, widths, codes }) {
  const bytes = bytesOf(codes),
    count = bytes.byteLength / widths.reduce((sum, width) => sum + width, 0);
  let at = 0;
  return first.map((own, j) => {
    const part = bytes.slice(at, at + count * widths[j]);
    at += part.byteLength;
    return [own, digits[j], Array.from(widths[j] === 1 ? new Uint8Array(part) : new Uint16Array(part))];
  });
}

// Features of an axis come by what is said of them, not one by one; columns are then features.
function unpacked(facts) {
  const { features } = facts;
  Object.assign(facts, { page: withNumbers(facts.page), refits: withNumbers(facts.refits) });
  if (facts.rows) facts.rows.columns = columnsOf(facts.rows.columns);
  if (!Array.isArray(features.read)) {
    const keys = Object.keys(features.read);
    features.read = (features.read.name || []).map((_, k) =>
      Object.fromEntries([["unit", ""], ["whole", false], ...keys.map((key) => [key, features.read[key][k]])])
    );
  }
  if (facts.page !== null) facts.page.middle ??= features.read.map((f) => f.median);
  if (facts.columns === null)
    facts.columns = features.read.map(({ name, unit }, j) => ({
      name,
      unit,
      features: [j],
      options: null,
      missing: null,
      linked: false,
      variance: facts.axis.variance[j],
      bar: null,
      alone: null,
      folds: null,
      stability: null,
      effect: null
    }));
  return facts;
}

function byImportance(facts) {
  return facts.columns.slice().sort((a, b) => b.variance - a.variance);
}

function overview(facts) {
  return [
    el(
      "div",
      { id: "answer" },
      facts.answer.slice(1).map((text) => el("p", {}, minus(text)))
    ),
    ...beforeReading(facts),
    ...picturePart(facts),
    ...(facts.pairs ? matrixPart(facts) : []),
    ...(facts.axis ? axisPart(facts) : []),
    ...selectionPart(facts),
    ...groupPart(facts),
    ...aboutPart(facts)
  ];
}

// Each check that found something grave: a heading, a sentence with its figures, what to do.
function beforeReading(facts) {
  if (!facts.first.length) {
    const absent = facts.checks.filter((c) => c.level === "none").length,
      rest = absent ? `; ${absent} could not be run` : "";
    return [el("p", { class: "good" }, `✓ ${facts.checks.length - absent} checks found nothing that you must know before you read on${rest}.`)];
  }
  return [
    el("h2", {}, "Before you read on"),
    el(
      "ul",
      { class: "looks" },
      facts.first.map((c) =>
        el(
          "li",
          {},
          el("strong", { class: "warn" }, `${c.title}. `),
          minus(/^u\d/.test(c.detail) ? c.detail : c.detail[0].toUpperCase() + c.detail.slice(1)),
          " ",
          el("span", { class: "soft" }, c.remedy)
        )
      )
    )
  ];
}

function importanceNote(facts) {
  const what = facts.features.independent
    ? "the part of each column in the scores' variance, features taken as independent of one another. What features do together counts for each of them: bars overlap, and need not add up to 100 %"
    : "the mean change of the score when the column takes its usual value, as a share of the largest";
  return facts.columns.some((c) => c.bar)
    ? `${what}. Thin lines and ± (level 90 %) show how much refits of the model with random weights of the samples vary`
    : what;
}

// A category of many levels on a slide: the four highest and the four lowest.
function ends(column) {
  const { levels, values, bars } = column.effect;
  if (levels === null || levels.length <= 8) return column;
  const order = levels.map((_, k) => k).sort((a, b) => values[0][b] - values[0][a]),
    kept = [...order.slice(0, 4), ...order.slice(-4)];
  const of = (parts) => parts && parts.map((own) => kept.map((k) => own[k]));
  return { ...column, effect: { ...column.effect, levels: kept.map((k) => levels[k]), values: of(values), bars: of(bars) } };
}

// Figures of the model beside simpler ones; of censored times beside chance.
function besideChance(facts) {
  if (facts.beside || !facts.survival || !facts.quality) return facts.beside;
  const [{ name, value, low, high }] = facts.quality.metrics;
  return { measure: name, rows: [["this model", value, low, high], ["chance", 0.5, null, null]] };
}

// One picture for a slide: how good beside simpler models, what matters, how the first three work.
function summaryPicture(facts) {
  const width = chartWidth(920),
    two = width >= 700,
    top = byImportance(facts)
      .filter((c) => c.variance > 0)
      .slice(0, 8),
    half = two ? (width - 30) / 2 : width;
  const panels = [],
    beside = besideChance(facts);
  if (beside) panels.push({ title: `How good: ${beside.measure}`, chart: dotChart(beside, half), wide: half });
  if (facts.axis) panels.push({ title: "Which part of the curve matters", chart: slopeChart(facts, two ? half : width, 200), wide: half });
  else if (top.length)
    panels.push({
      title: "What matters",
      chart: shareChart(top, facts.features.independent, half),
      wide: half
    });
  const range = effectRange(facts),
    small = two ? (width - 60) / 3 : width;
  top
    .filter((c) => c.effect !== null)
    .slice(0, facts.axis ? 0 : 3)
    .forEach((c) => panels.push({ title: c.name, chart: effectChart(facts, ends(c), range, small, 170), wide: small }));
  const picture = svg("svg", { class: "picture" });
  let x = 0,
    y = 0,
    tallest = 0;
  panels.forEach(({ title, chart, wide }) => {
    if (x > 0 && x + wide > width + 1) {
      x = 0;
      y += tallest + 18;
      tallest = 0;
    }
    const heading = svg("text", { x, y: y + 14, class: "heading" }, shortenTo(title, wide));
    chart.setAttribute("x", x);
    chart.setAttribute("y", y + 24);
    tallest = Math.max(tallest, 24 + Number(chart.getAttribute("height")));
    picture.append(heading, chart);
    x += wide + 30;
  });
  const height = y + tallest + 4;
  for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height })) picture.setAttribute(name, value);
  return panels.length ? picture : null;
}

function picturePart(facts) {
  const picture = summaryPicture(facts);
  if (picture === null) return [];
  const top = byImportance(facts).slice(0, facts.axis ? 0 : 10),
    beside = besideChance(facts),
    rows = beside ? beside.rows : [];
  const shown = figure({
    title: "The model in one picture",
    note: facts.axis || !top.length ? null : `Bars: ${importanceNote(facts)}.`,
    alt: `${facts.answer.slice(0, 3).join(" ")}`,
    chart: picture,
    head: ["", "value", "low", "high"],
    rows: [
      ...rows,
      ...top.map((c) => [
        `importance of ${c.name}`,
        c.variance,
        c.bar ? Math.max(0, c.variance - c.bar) : null,
        c.bar ? c.variance + c.bar : null
      ])
    ]
  });
  shown.append(el("div", { class: "controls" }, saveButton("Save the picture", picture, facts.title), ...printButtons()));
  return [shown];
}

// Two pages by default: the answer and the quality; or every part of the report.
function printButtons() {
  const print = (all) => () => {
    document.body.classList.toggle("print-all", all);
    window.print();
  };
  return [
    el("button", { type: "button", onclick: print(false) }, "Print two pages"),
    el("button", { type: "button", onclick: print(true) }, "Print everything")
  ];
}

// Which features were chosen, how surely, what could stand for them.
function selectionPart(facts) {
  const { selection } = facts;
  if (!selection) return [];
  const head = selection.head,
    rows = selection.rows.map((row) => row.map((value, k) => (selection.shares.includes(k) ? share(value, 0) : value)));
  return [
    el("h2", {}, selection.title),
    ...selection.text.map((text) => el("p", {}, text)),
    table(head, rows, { label: "Features that were chosen" }),
    copyButton("Copy as CSV", () => toCsv(head, rows))
  ];
}

function groupPart(facts) {
  if (!facts.by_group) return [];
  return [
    el("h2", {}, "Quality by group"),
    ...facts.by_group.map((one) => el("p", {}, el("strong", {}, `${one.name}: `), one.gap ? minus(one.gap.text) : "there are no two groups of ten samples or more to compare.")),
    el("p", { class: "soft" }, "All groups with their intervals are in “Quality”.")
  ];
}

function aboutPart(facts) {
  const { model, samples } = facts,
    target = samples.target;
  return [
    el("h2", {}, "What it is"),
    el("p", {}, model.sentence),
    model.formula ? el("details", {}, el("summary", {}, "As a formula"), el("pre", {}, model.formula)) : null,
    el(
      "details",
      {},
      el("summary", {}, "How it was fitted"),
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
          ["events", target && target.events ? `${target.events[0]} of ${target.events[1]}; other times are censored` : null],
          ["target, quartiles", target && target.quartiles ? target.quartiles.map((v) => fmt(v)).join(", ") : null],
          ["views", model.views.length ? model.views.join(", ") : null]
        ],
        "How it was fitted"
      )
    ),
    el("h2", {}, "What to keep in mind"),
    el(
      "ul",
      {},
      facts.cautions.map((text) => el("li", {}, text))
    )
  ];
}
