// A row from what somebody pasted: JSON, or CSV with a header or without.
function parseRow(machine, text) {
  const { features, facts } = machine;
  let names = null,
    cells;
  const trimmed = text.trim();
  if (trimmed === "") throw new Error("Paste a sample first.");
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
    const x = typeof value === "number" ? value : isEmpty(value) ? NaN : Number(value);
    if (!Number.isFinite(x)) throw new Error(`${name} must be a number; got ${JSON.stringify(value)}.`);
    return x;
  };
  if (names !== null) {
    const place = new Map(names.map((name, k) => [name.trim(), k])),
      row = features.map(() => NaN);
    for (const column of machine.columns) {
      const given = column.features.map((j) => place.get(features[j].name.trim()));
      if (given.every((k) => k !== undefined) && !(column.missing !== null && isEmpty(cells[given[0]])))
        column.features.forEach((j, k) => {
          row[j] = number(cells[given[k]], features[j].name);
        });
      else if (place.has(column.name.trim())) fillColumn(column, cells[place.get(column.name.trim())], row, number);
      else throw new Error(`The column ${JSON.stringify(column.name)} is missing.`);
    }
    return row;
  }
  if (cells.length === facts.model.n_features)
    return features.map((feature) => number(cells[feature.column], feature.name));
  if (cells.length === features.length) return features.map((feature, j) => number(cells[j], feature.name));
  if (cells.length === machine.columns.length) {
    const row = features.map(() => NaN);
    machine.columns.forEach((column, c) => fillColumn(column, cells[c], row, number));
    return row;
  }
  const counts = [
    [facts.model.n_features, "all columns"],
    [features.length, "those the model reads"],
    [machine.columns.length, "columns of the table"]
  ].filter(([count], k, every) => every.findIndex(([other]) => other === count) === k);
  const told = counts.length === 1 ? counts[0][0] : counts.map(([count, what]) => `${count} (${what})`).join(" or ");
  throw new Error(`A sample must have ${told} numbers; got ${cells.length}. A first line with column names helps.`);
}

function isEmpty(value) {
  return value === null || String(value).trim() === "";
}

// The features of one column of the table, from what it holds: a number, the name of a level, or nothing.
function fillColumn(column, value, row, number) {
  if (column.options === null) {
    const missing = column.missing !== null && isEmpty(value);
    row[column.features[0]] = missing ? column.missing : number(value, column.name);
    if (column.missing !== null) row[column.features[1]] = missing ? 1 : 0;
    return;
  }
  const text = isEmpty(value) ? "(missing)" : String(value).trim(),
    labelled = (wanted) => column.options.find(([label]) => label.trim().toLowerCase() === wanted.toLowerCase()),
    option = labelled(text) || (isEmpty(value) ? undefined : labelled("(other)")); // as the encoder does
  if (option === undefined)
    throw new Error(
      `${column.name} must be one of ${column.options.map(([label]) => label).join(", ")}; got ${JSON.stringify(value)}.`
    );
  column.features.forEach((j, k) => {
    row[j] = option[1][k];
  });
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

// What a row has in a column, as "Paste a sample" takes it: nothing where it is missing.
function pastable(column, row) {
  const found = cell(column, row);
  return found === "(missing)" ? "" : found;
}
