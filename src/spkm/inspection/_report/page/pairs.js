// Pairs: any two of the entities by name, why the model scores them so, what other partners would have.
const pairState = { left: 0, right: 0 };

function pairContributions(pairs, i, j, output = 0) {
  return pairs.weights.map((own, r) => own[output] * pairs.similar[0][i][r] * pairs.similar[1][j][r]);
}

function pairScore(pairs, i, j, output = 0) {
  return pairs.intercept[output] + pairContributions(pairs, i, j, output).reduce((a, b) => a + b, 0);
}

// The largest difference to Python's scores, relative to what is added up; good as in verify.
function verifyPairs(pairs) {
  let worst = 0,
    good = true;
  pairs.verify.forEach((expected, k) =>
    expected.forEach((score, o) => {
      const [i, j] = pairs.pairs[k],
        size = pairContributions(pairs, i, j, o).reduce((sum, v) => sum + Math.abs(v), Math.abs(score)),
        bound = [pairs.rounding[k]].flat();
      const gap = Math.abs(pairScore(pairs, i, j, o) - score);
      worst = Math.max(worst, gap === 0 ? 0 : gap / size);
      good = good && gap <= Math.max(UNSEEN * size, bound[o] ?? bound[0]);
    })
  );
  return { worst, count: pairs.verify.length, good };
}

function truthOfPair(pairs, i, j) {
  const k = pairs.y === null ? -1 : pairs.pairs.findIndex(([a, b]) => a === i && b === j);
  return k < 0 ? null : pairs.y[k];
}

// Score as a mean over all pairs, what either side adds to it alone, and what is left for the two together.
function pairParts(pairs, i, j) {
  const [n, m] = pairs.names.map((names) => names.length),
    mean = (part, count) => pairs.weights.map((_, r) => part.reduce((sum, row) => sum + row[r], 0) / count);
  const usual = [mean(pairs.similar[0], n), mean(pairs.similar[1], m)],
    sum = (a, b) => pairs.intercept[0] + pairs.weights.reduce((total, own, r) => total + own[0] * a[r] * b[r], 0);
  const base = sum(usual[0], usual[1]),
    left = sum(pairs.similar[0][i], usual[1]) - base,
    right = sum(usual[0], pairs.similar[1][j]) - base;
  return { base, left, right, both: pairScore(pairs, i, j) - base - left - right };
}

function pairPicker(facts, side, redraw, name) {
  const { pairs } = facts,
    key = side ? "right" : "left",
    box = el(
      "select",
      {
        id: `${name}-${key}`,
        onchange: () => {
          pairState[key] = Number(box.value);
          redraw();
        }
      },
      pairs.names[side]
        .map((label, k) => [label, k])
        .sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true }))
        .map(([label, k]) => el("option", { value: k, selected: k === pairState[key] }, label))
    );
  return [el("label", { for: `${name}-${key}` }, pairs.sides[side]), box];
}

function drawPair(facts, host) {
  const { pairs } = facts,
    { left: i, right: j } = pairState,
    redraw = () => drawPair(facts, host),
    score = pairScore(pairs, i, j),
    parts = pairParts(pairs, i, j),
    truth = truthOfPair(pairs, i, j),
    values = pairContributions(pairs, i, j),
    [first, second] = pairs.sides,
    [a, b] = [pairs.names[0][i], pairs.names[1][j]];
  const fall = largest(
    values.map((_, r) => facts.model.labels[r]),
    values,
    12
  );
  const names = [`${a} alone`, `${b} alone`, "the two together"],
    own = [parts.left, parts.right, parts.both];
  host.replaceChildren(
    el("div", { class: "controls" }, pairPicker(facts, 0, redraw, "pair"), pairPicker(facts, 1, redraw, "pair")),
    el(
      "div",
      { class: "answer", role: "status", "aria-live": "polite" },
      `${a} with ${b}: ${pairAnswer(facts, score)}`,
      el(
        "small",
        {},
        facts.model.classes ? `score ${signed(score)}` : facts.model.score_names[0],
        truth === null ? "" : `; true target: ${typeof truth === "number" ? fmt(truth) : truth}`,
        pairs.n_fit ? `; in the fit ${a} has ${pairs.n_fit[0][i]} pairs, ${b} has ${pairs.n_fit[1][j]}` : ""
      )
    ),
    el(
      "div",
      { class: "pair" },
      figure({
        title: "By side",
        note: "from the mean over all pairs of this file; exact",
        alt: `The ${first} adds ${signed(parts.left)}, the ${second} ${signed(parts.right)}, both together ${signed(parts.both)}.`,
        chart: waterfall(names, own, parts.base, { first: "mean", last: "this pair", width: chartWidth(470) }),
        head: ["part", "adds"],
        rows: names.map((name, k) => [name, own[k]])
      }),
      figure({
        title: "By basis vectors",
        note: "what each pair of basis vectors adds: weight × similarity of both sides",
        alt: `Waterfall over basis vectors; the largest step is ${fall.labels[0]}.`,
        chart: waterfall(fall.labels, fall.values, pairs.intercept[0], { first: "intercept", last: "this pair", width: chartWidth(470) }),
        head: ["basis vector", "adds", `similarity of ${first}`, `similarity of ${second}`],
        rows: values.map((v, r) => [facts.model.labels[r], v, pairs.similar[0][i][r], pairs.similar[1][j][r]])
      })
    ),
    el("div", { class: "pair" }, likePart(facts, 0, redraw), likePart(facts, 1, redraw))
  );
}

function pairAnswer(facts, score) {
  if (facts.model.classes && facts.model.outputs.length === 1) return facts.model.classes[score > 0 ? 1 : 0];
  return fmt(score);
}

// The named entities most like one, with the score that they have with the same partner.
function likePart(facts, side, redraw) {
  const { pairs } = facts,
    key = side ? "right" : "left",
    here = side ? pairState.right : pairState.left,
    at = (k) => (side ? [pairState.left, k] : [k, pairState.right]);
  const head = [pairs.sides[side], "similarity", "score", ...(pairs.y === null ? [] : ["target"])];
  const button = (k) =>
    el(
      "button",
      {
        type: "button",
        onclick: () => {
          pairState[key] = k;
          redraw();
        }
      },
      pairs.names[side][k]
    );
  return el(
    "div",
    {},
    el("h3", {}, `${pairs.sides[side]}: most like ${pairs.names[side][here]}`),
    table(
      head,
      pairs.near[side][here].map(([k, similarity]) => [
        button(k),
        similarity,
        pairScore(pairs, ...at(k)),
        ...(pairs.y === null ? [] : [truthOfPair(pairs, ...at(k))])
      ]),
      { label: `Most like ${pairs.names[side][here]}` }
    )
  );
}

// What if one side were another: all partners of an entity, the highest and the lowest.
function drawPartners(facts, host) {
  const { pairs } = facts,
    redraw = () => drawPartners(facts, host);
  const ranked = (side) => {
    const other = 1 - side,
      here = side ? pairState.right : pairState.left,
      scores = pairs.names[other].map((_, k) => (side ? pairScore(pairs, k, here) : pairScore(pairs, here, k))),
      order = scores.map((_, k) => k).sort((a, b) => scores[b] - scores[a]),
      shown = order.length > 20 ? [...order.slice(0, 15), ...order.slice(-5)] : order;
    return figure({
      title: `${pairs.names[side][here]} with every ${pairs.sides[other]}`,
      note: order.length > 20 ? `the 15 highest and the 5 lowest of ${order.length}` : null,
      alt: `Scores of ${pairs.names[side][here]}; the highest is ${pairs.names[other][order[0]]}.`,
      chart: barChart(
        shown.map((k) => pairs.names[other][k]),
        shown.map((k) => scores[k]),
        { width: chartWidth(470), plain: !facts.model.classes, format: (v) => fmt(v, 3) }
      ),
      head: [pairs.sides[other], "score"],
      rows: order.map((k) => [pairs.names[other][k], scores[k]])
    });
  };
  host.replaceChildren(
    el("div", { class: "controls" }, pairPicker(facts, 0, redraw, "partner"), pairPicker(facts, 1, redraw, "partner")),
    el("div", { class: "pair" }, ranked(0), ranked(1))
  );
}

// The scores of the entities that vary most, by name, as a shaded table.
function matrixPart(facts) {
  const { pairs } = facts;
  const [rows, columns] = pairs.matrix,
    scores = rows.map((i) => columns.map((j) => pairScore(pairs, i, j))),
    all = scores.flat(),
    [low, high] = [Math.min(...all), Math.max(...all)];
  const wide = document.documentElement.clientWidth < 700 ? 12 : columns.length,
    shown = columns.filter((_, k) => k % Math.ceil(columns.length / wide) === 0);
  const cell = (i, j) => {
    const score = pairScore(pairs, i, j),
      part = high > low ? (score - low) / (high - low) : 0;
    return el("td", {
      style: `background: color-mix(in srgb, var(--accent) ${Math.round(90 * part)}%, var(--paper))`,
      title: `${pairs.names[0][i]} with ${pairs.names[1][j]}: ${fmt(score)}`
    });
  };
  return [
    el("h2", {}, "All pairs"),
    el(
      "p",
      { class: "soft" },
      `Scores of ${rows.length} of ${pairs.names[0].length} ${plural(pairs.sides[0])} with ${shown.length} of ${pairs.names[1].length} ${plural(pairs.sides[1])}, those that vary most; similar ones together. Pale: ${fmt(low, 3)}, dark: ${fmt(high, 3)}.`
    ),
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scores of pairs" },
      el(
        "table",
        { class: "matrix" },
        el("thead", {}, el("tr", {}, el("th", {}, ""), shown.map((j) => el("th", { scope: "col" }, el("span", {}, pairs.names[1][j]))))),
        el(
          "tbody",
          {},
          rows.map((i) => el("tr", {}, el("th", { scope: "row" }, pairs.names[0][i]), shown.map((j) => cell(i, j))))
        )
      )
    ),
    copyButton("Copy as CSV", () =>
      toCsv(
        [pairs.sides[0], ...columns.map((j) => pairs.names[1][j])],
        rows.map((i, k) => [pairs.names[0][i], ...scores[k]])
      )
    )
  ];
}

function pairTabs(facts) {
  [pairState.left, pairState.right] = facts.pairs.pairs[0] || [0, 0];
  const hosts = [el("div"), el("div")];
  drawers.pair = () => drawPair(facts, hosts[0]);
  drawers.partners = () => drawPartners(facts, hosts[1]);
  addTab("pair", "Explain a pair", [el("h2", {}, "Why this score"), hosts[0]]);
  addTab("partners", "What if", [
    el("h2", {}, "What if it were another"),
    el("p", {}, "Choose either side: below are its scores with every partner, computed here by the model itself."),
    hosts[1]
  ]);
  stale.add("pair");
  stale.add("partners");
}

// The entities most like a basis vector, by name.
function plural(word) {
  return /[^aeiou]y$/.test(word) ? word.slice(0, -1) + "ies" : `${word}s`;
}

function vectorEntities(facts, card) {
  const { pairs } = facts;
  return el(
    "div",
    {},
    [0, 1].map((side) =>
      el(
        "p",
        {},
        el("strong", {}, `Most like it, ${plural(pairs.sides[side])}: `),
        card.entities[side].map(([k, s]) => `${pairs.names[side][k]} (${fmt(s, 2)})`).join(", ")
      )
    )
  );
}
