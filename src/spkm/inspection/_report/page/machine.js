// The model of the page: rows, predictions, what is near, what is strange, what would flip the answer.

// The shipped rows, from whole numbers: (first + code) / 10^digits is the same double as in Python.
function unpackRows(rows) {
  if (rows === null) return [];
  return rows.index.map((_, i) =>
    rows.columns.map(({ first, digits, codes }) =>
      digits >= 0 ? (first + codes[i]) / Number("1e" + digits) : (first + codes[i]) * Number("1e" + -digits)
    )
  );
}

// A kernel whose values are similarities: what is wrapped as 2k - 1 counts as k.
function unwrapped(kernel) {
  return kernel.name === "affine" ? unwrapped(kernel.kernel) : kernel;
}

// The terms of basis vectors; a linear part is no place in the data, so nothing is like it.
function ofVectors(terms) {
  const kept = terms.filter((term) => term.name !== "linear part");
  return kept.length ? kept : terms;
}

function withBasis(plain, basisOf, countOf) {
  return {
    ...plain,
    members: plain.members.map((member, k) => ({
      ...member,
      terms: ofVectors(member.terms).map((term) => ({
        ...term,
        weights: Array.from({ length: countOf(term) }, () => member.intercept.map(() => 0)),
        views: term.views.map((view) => ({ ...view, kernel: unwrapped(view.kernel), basis: basisOf(view, k) }))
      }))
    }))
  };
}

function makeMachine(facts) {
  const { page, features } = facts;
  if (page === null) return null;
  const plain = page.plain,
    engine = spkmModel(plain),
    rows = unpackRows(facts.rows);
  const several = plain.combine !== "joint";
  const weights = plain.members.flatMap((member, k) =>
    member.terms.flatMap((term) =>
      term.weights.map((own) => (several ? plain.members.map((_, o) => (o === k ? own[0] : 0)) : own))
    )
  );
  const machine = {
    plain,
    engine,
    rows,
    weights,
    labels: facts.model.labels,
    shapes: page.shapes,
    features: features.read,
    facts,
    familiar: page.familiar,
    size: plain.members.reduce(
      (sum, m) =>
        sum + m.terms.reduce((own, t) => own + t.views.reduce((n, v) => n + t.weights.length * v.columns.length, 0), 0),
      0
    ),
    background: page.background === null ? [page.middle] : page.background.map((i) => rows[i]),
    middle: page.middle
  };
  machine.alike = spkmModel(
    withBasis(
      plain,
      (view) => view.basis,
      (term) => term.weights.length
    )
  );
  let near = null;
  machine.near = () => {
    if (near === null) {
      const scaled = rows.map((row) => engine.scaled(row));
      near = spkmModel(
        withBasis(
          plain,
          (view, k) => scaled.map((z) => view.columns.map((c) => z[k][c])),
          () => rows.length
        )
      );
    }
    return near;
  };
  return machine;
}

// The largest difference between the page's numbers and Python's, over all rows that both have. Differences of scores
// are relative to what is added up to a score, where that is above 1: rounding cannot be smaller.
function verify(machine) {
  const { verify: expected } = machine.facts.page;
  const rows = typeof expected.rows === "number" ? machine.rows.slice(0, expected.rows) : expected.rows;
  let worst = 0,
    wrong = 0;
  rows.forEach((row, i) => {
    const added = machine.engine.contributions(row);
    const size = Math.max(
      1,
      ...expected.scores[i].map((_, o) => added.reduce((sum, own) => sum + Math.abs(own[o]), 0))
    );
    machine.engine.scores(row).forEach((f, o) => {
      worst = Math.max(worst, Math.abs(f - expected.scores[i][o]) / size);
    });
    const P = machine.engine.probabilities(row);
    if (P !== null && expected.probabilities !== null)
      P.forEach((p, k) => {
        worst = Math.max(worst, Math.abs(p - expected.probabilities[i][k]));
      });
    const same = machine.engine.predict(row),
      other = expected.predictions[i];
    if (machine.plain.task !== "regression" && String(same) !== String(other)) wrong += 1;
  });
  return { worst, wrong, count: rows.length, good: worst < 1e-12 && wrong === 0 };
}

// The shipped rows most like a row, in the model's own metric, best first.
function nearestRows(machine, row, count = 5) {
  if (machine.rows.length === 0) return [];
  const values = machine.near().similarities(row),
    n = machine.rows.length,
    terms = values.length / n;
  const mean = machine.rows.map((_, i) => {
    let sum = 0;
    for (let t = 0; t < terms; t++) sum += values[t * n + i];
    return sum / terms;
  });
  return mean
    .map((similarity, index) => ({ index, similarity }))
    .sort((a, b) => b.similarity - a.similarity || a.index - b.index)
    .slice(0, count);
}

// What is strange about a row: features outside the range, and a place far from every basis vector.
function strangeness(machine, row) {
  const found = [];
  machine.features.forEach((feature, j) => {
    const room = (feature.high - feature.low) / 1000; // shown values are rounded
    if (row[j] < feature.low - room || row[j] > feature.high + room) {
      found.push(`${feature.name} = ${fmt(row[j])} is outside its range, ${fmt(feature.low)} to ${fmt(feature.high)}`);
    }
  });
  if (machine.familiar !== null) {
    const most = Math.max(...machine.alike.similarities(row)),
      rank = machine.familiar.findIndex((point) => most <= point);
    if (rank >= 0 && rank <= 1)
      found.push(`it is less like any basis vector (similarity ${fmt(most, 3)}) than 99 % of the samples`);
  }
  return found;
}

function answer(machine, row) {
  const { engine, plain } = machine,
    prediction = engine.predict(row),
    P = engine.probabilities(row);
  if (plain.task === "regression") {
    const list = [prediction].flat();
    return {
      text: list.map((v, o) => (list.length > 1 ? `${plain.outputs[o]}: ` : "") + fmt(v, 5)).join(", "),
      detail: "predicted value",
      prediction,
      P
    };
  }
  if (plain.task === "labels") {
    const on = prediction.map((v, k) => (v ? plain.outputs[k] : null)).filter((v) => v !== null);
    return { text: on.length ? "labels " + on.join(", ") : "no label", detail: "", prediction, P };
  }
  const scores = engine.decision(row);
  const k = plain.classes.indexOf(prediction);
  const parts = P ? [`probability ${percent(P[k], 1)}`] : [];
  if (!plain.two_dimensional) parts.push(`score ${signed(scores[0])} (positive: ${plain.classes[1]})`);
  else if (!P) parts.push(`score ${signed(scores[k])}`);
  return { text: machine.facts.model.classes[k], detail: parts.join("; "), prediction, P };
}

// How far a row is beyond the boundary of what is wanted: 0 or more has reached it.
function marginOf(machine, wanted, row0) {
  const { engine, plain } = machine;
  if (plain.task === "regression") {
    const side = [engine.predict(row0)].flat()[0] < wanted ? 1 : -1;
    return (row) => side * ([engine.predict(row)].flat()[0] - wanted);
  }
  const k = plain.classes.indexOf(wanted);
  if (!plain.two_dimensional) return (row) => (k === 1 ? 1 : -1) * engine.decision(row)[0];
  return (row) => {
    const F = engine.decision(row);
    return F[k] - Math.max(...F.filter((_, other) => other !== k));
  };
}

// Values that a feature may take, the nearest to x first on each side.
function candidates(feature, x, count) {
  const low = feature.low,
    high = feature.high,
    found = [];
  if (feature.whole && high - low <= 4 * count) for (let v = Math.ceil(low); v <= high; v++) found.push(v);
  else for (let k = 0; k <= count; k++) found.push(low + ((high - low) * k) / count);
  return found.filter((v) => v !== x);
}

// The smallest change of one feature or two that reaches what is wanted, on a grid over the ranges, then bisected.
function smallestChange(machine, row, wanted) {
  const margin = marginOf(machine, wanted, row),
    spread = machine.features.map((f) => f.sd || 1);
  if (margin(row) >= 0) return { found: true, changes: [], size: 0 };
  const budget = Math.max(4000, Math.min(60000, 4e7 / machine.size)),
    order = machine.features
      .map((_, j) => j)
      .filter((j) => machine.features[j].high > machine.features[j].low)
      .sort((a, b) => machine.features[b].variance - machine.features[a].variance)
      .slice(0, Math.max(5, Math.floor(budget / 120)));
  const size = (change) => Math.hypot(...change.map(([j, v]) => (v - row[j]) / spread[j]));
  const at = (change) => {
    const other = row.slice();
    change.forEach(([j, v]) => {
      other[j] = v;
    });
    return margin(other);
  };
  let best = null;
  const offer = (change) => {
    if (best === null || size(change) < size(best)) best = change;
  };
  const reach = new Map();
  for (const j of order) {
    let most = -Infinity;
    for (const v of candidates(machine.features[j], row[j], 80)) {
      const m = at([[j, v]]);
      most = Math.max(most, m);
      if (m >= 0 && (best === null || Math.abs(v - row[j]) / spread[j] < size(best)))
        offer(shortened(machine, row, [[j, v]], at));
    }
    reach.set(j, most);
  }
  const few = order
      .slice()
      .sort((a, b) => reach.get(b) - reach.get(a))
      .slice(0, 8),
    side = Math.max(8, Math.min(28, Math.floor(Math.sqrt(budget / 28))));
  for (let a = 0; a < few.length; a++)
    for (let b = 0; b < a; b++) {
      for (const v of candidates(machine.features[few[a]], row[few[a]], side))
        for (const w of candidates(machine.features[few[b]], row[few[b]], side)) {
          const change = [
            [few[a], v],
            [few[b], w]
          ];
          if ((best === null || size(change) < size(best)) && at(change) >= 0)
            offer(shortened(machine, row, change, at));
        }
    }
  return best === null ? { found: false, changes: [], size: NaN } : { found: true, changes: best, size: size(best) };
}

// The change drawn back towards the row as far as it still reaches.
function shortened(machine, row, change, at) {
  if (change.some(([j]) => machine.features[j].whole)) return change;
  let low = 0,
    high = 1;
  const part = (t) => change.map(([j, v]) => [j, row[j] + t * (v - row[j])]);
  for (let step = 0; step < 40; step++) {
    const middle = (low + high) / 2;
    if (at(part(middle)) >= 0) high = middle;
    else low = middle;
  }
  return part(high);
}

// A row from what somebody pasted: JSON, or CSV with a header or without.
function parseRow(machine, text) {
  const { features, facts } = machine;
  let names = null,
    cells;
  const trimmed = text.trim();
  if (trimmed === "") throw new Error("Paste a row first.");
  if (trimmed[0] === "{" || trimmed[0] === "[") {
    const value = JSON.parse(trimmed),
      row = Array.isArray(value) && typeof value[0] === "object" ? value[0] : value;
    if (Array.isArray(row)) cells = row;
    else {
      names = Object.keys(row);
      cells = Object.values(row);
    }
  } else {
    const lines = trimmed
      .split(/\r?\n/)
      .filter((line) => line.trim() !== "")
      .map(splitLine);
    const isHead = lines.length > 1 && lines[0].some((cell) => cell !== "" && !Number.isFinite(Number(cell)));
    if (isHead) names = lines[0];
    cells = lines[isHead ? 1 : 0];
  }
  const number = (value, name) => {
    const x = typeof value === "number" ? value : value === null || String(value).trim() === "" ? NaN : Number(value);
    if (!Number.isFinite(x)) throw new Error(`${name} must be a number; got ${JSON.stringify(value)}.`);
    return x;
  };
  if (names !== null) {
    const place = new Map(names.map((name, k) => [name.trim(), k]));
    return features.map((feature) => {
      if (!place.has(feature.name.trim())) throw new Error(`The column ${JSON.stringify(feature.name)} is missing.`);
      return number(cells[place.get(feature.name.trim())], feature.name);
    });
  }
  if (cells.length === facts.model.n_features)
    return features.map((feature) => number(cells[feature.column], feature.name));
  if (cells.length === features.length) return features.map((feature, j) => number(cells[j], feature.name));
  const counts =
    facts.model.n_features !== features.length
      ? `${facts.model.n_features} (all columns) or ${features.length} (those the model reads)`
      : features.length;
  throw new Error(`A row must have ${counts} numbers; got ${cells.length}. A first line with column names helps.`);
}

function splitLine(line) {
  const mark = ["\t", ";", ","].find((one) => line.includes(one)) || /\s+/;
  if (mark !== ",")
    return line
      .trim()
      .split(mark)
      .map((cell) => cell.trim().replace(/^"(.*)"$/, "$1"));
  const cells = [];
  line.replace(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g, (_, quoted, plainCell) => {
    cells.push(quoted === undefined ? plainCell.trim() : quoted.replaceAll('""', '"'));
    return "";
  });
  return cells;
}
