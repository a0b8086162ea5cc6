// The model of the page: rows, predictions, what is near, what is strange.

// The shipped rows, from whole numbers: (first + code) / 10^digits is the same double as in Python.
function unpackRows(rows) {
  if (rows === null) return [];
  return rows.index.map((_, i) =>
    rows.columns.map(([first, digits, codes]) =>
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

// Weights of all basis vectors for all scores; a binary problem has weights for its own score alone.
function weightsOf(plain) {
  const several = plain.combine !== "joint";
  return plain.members.flatMap((member, k) =>
    member.terms.flatMap((term) =>
      term.weights.map((own) => (several ? plain.members.map((_, o) => (o === k ? own[0] : 0)) : own))
    )
  );
}

function makeMachine(facts) {
  const { page, features } = facts;
  if (page === null) return null;
  const engine = spkmModel(page.plain),
    { plain } = engine,
    rows = unpackRows(facts.rows);
  const { columns } = facts;
  const machine = {
    plain,
    engine,
    rows,
    weights: weightsOf(plain),
    labels: facts.model.labels,
    shapes: page.shapes,
    features: features.read,
    columns,
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
  machine.movers = [...machine.columns, ...(page.links || []).map((link) => linkOf(machine, link))];
  machine.owner = features.read.map((_, j) => columns.findIndex((column) => column.features.includes(j)));
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

// Columns that determine one another as one that can be changed: a list of what occurs, or a line.
function linkOf(machine, { columns, values, slopes }) {
  const own = columns.map((c) => machine.columns[c]),
    features = own.flatMap((column) => (slopes === null ? column.features : column.features.slice(0, 1)));
  return {
    name: own.map(({ name }) => name).join(" and "),
    features,
    options: values === null ? null : values.map((row) => ["", row]),
    missing: null,
    slopes,
    members: columns,
    variance: own.reduce((sum, { variance }) => sum + variance, 0)
  };
}

// A share of what is added up below which no difference counts.
const UNSEEN = 1e-12;

// Whether a decision is so close that scores which differ by that much may make another one.
function isClose({ plain, engine }, row, room) {
  const scores = engine.decision(row);
  if (plain.task === "labels") return scores.some((v) => Math.abs(v) <= room);
  if (plain.task === "ordered") return plain.cuts.some((cut) => Math.abs(scores[0] - cut) <= room);
  if (!plain.two_dimensional) return Math.abs(scores[0]) <= room;
  const [first, second] = scores.sort((a, b) => b - a);
  return first - second <= 2 * room * (plain.combine === "pairs" ? plain.steepness * scores.length : 1);
}

// The largest difference between the page's numbers and Python's, over all rows that both have, relative to what is
// added up to a score, so that units do not matter. It is good where no difference is above what rounding may make of
// the sums and distances of its row. A probability follows its scores with a slope below 1, so that it has no more than
// their error.
function verify(machine) {
  const { verify: expected } = machine.facts.page;
  const rows = typeof expected.rows === "number" ? machine.rows.slice(0, expected.rows) : expected.rows;
  let worst = 0,
    wrong = 0,
    good = true;
  rows.forEach((row, i) => {
    const added = machine.engine.contributions(row),
      sizes = expected.scores[i].map((score, o) => added.reduce((sum, own) => sum + Math.abs(own[o]), Math.abs(score))),
      bounds = [expected.rounding[i]].flat(), // one for each of several outputs, else the largest
      rooms = sizes.map((size, o) => Math.max(UNSEEN * size, bounds[o] ?? bounds[0])),
      room = Math.max(UNSEEN, ...rooms);
    const compare = (found, wanted, size, own) =>
      found.forEach((v, k) => {
        const gap = Math.abs(v - wanted[k]);
        worst = Math.max(worst, gap === 0 ? 0 : gap / size(k));
        good = good && gap <= own(k);
      });
    compare(machine.engine.scores(row), expected.scores[i], (o) => sizes[o], (o) => rooms[o]);
    const P = machine.engine.probabilities(row);
    if (P !== null && expected.probabilities !== null) compare(P, expected.probabilities[i], () => Math.max(1, ...sizes), () => room);
    const same = machine.engine.predict(row),
      other = expected.predictions[i];
    if (machine.plain.task !== "regression" && String(same) !== String(other) && !isClose(machine, row, room))
      wrong += 1;
  });
  return { worst, wrong, count: rows.length, good: good && wrong === 0 };
}

// Which level of a category a row has, -1 if it has none of them.
function levelOf(column, row) {
  return column.options.findIndex(([, values]) => column.features.every((j, k) => row[j] === values[k]));
}

// Whether a row has no value in a column of numbers.
function isMissing(column, row) {
  return column.missing !== null && row[column.features[1]] === 1;
}

// What a row has in a column, as text: a number without its unit, or the name of a level.
function cellText(column, row, digits) {
  if (column.options === null) return isMissing(column, row) ? "(missing)" : fmt(row[column.features[0]], digits);
  const k = levelOf(column, row);
  return k < 0 ? "(none of its levels)" : column.options[k][0];
}

// What a row has in a column for a table: a number stays one.
function cell(column, row) {
  return column.options === null && !isMissing(column, row) ? row[column.features[0]] : cellText(column, row);
}

// A row with every category at the level that is nearest: a basis vector may lie between them.
function atLevels(machine, row) {
  const other = row.slice();
  for (const { features, options, missing } of machine.columns) {
    if (options !== null) {
      const away = options.map(([, values]) => values.reduce((sum, v, k) => sum + (v - row[features[k]]) ** 2, 0)),
        [, values] = options[away.indexOf(Math.min(...away))];
      features.forEach((j, k) => {
        other[j] = values[k];
      });
    } else if (missing !== null) {
      other[features[1]] = row[features[1]] > 0.5 ? 1 : 0;
      if (other[features[1]] === 1) other[features[0]] = missing;
    }
  }
  return other;
}

// Of some columns those that can be changed: they have more than one value. The most telling ones come first.
function changeable(machine, columns = machine.columns) {
  const room = (column) => {
    const f = machine.features[column.features[0]];
    return column.options !== null ? column.options.length > 1 : f.high > f.low;
  };
  return columns
    .map((_, c) => c)
    .filter((c) => room(columns[c]))
    .sort((a, b) => columns[b].variance - columns[a].variance);
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
      detail: machine.facts.survival ? `log hazard, 0 is usual; ${survivalText(machine, row)}` : "predicted value",
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
  if (plain.task === "ordered") parts.push(`score ${signed(scores[0])}`);
  else if (!plain.two_dimensional) parts.push(`score ${signed(scores[0])} (positive: ${plain.classes[1]})`);
  else if (!P) parts.push(`score ${signed(scores[k])}`);
  return { text: machine.facts.model.classes[k], detail: parts.join("; "), prediction, P };
}
