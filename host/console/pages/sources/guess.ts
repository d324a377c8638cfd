/** Columns of a stream, guessed from rows of it, and the statement that declares them. */

type Row = Readonly<Record<string, unknown>>;

export interface GuessedColumn {
  readonly name: string;
  readonly type: string;
  /** Rows that have the column. */
  readonly seen: number;
  /** A value of it. */
  readonly example: unknown;
}

/** What a value is; of arrays and objects, what is in them. */
type Shape =
  | { readonly kind: 'none' }
  | { readonly kind: 'BIGINT' | 'FLOAT' | 'STRING' | 'BOOLEAN' }
  | { readonly kind: 'ARRAY'; readonly item: Shape }
  | { readonly kind: 'STRUCT'; readonly members: ReadonlyMap<string, Shape> };

export function guessed(rows: readonly Row[]): readonly GuessedColumn[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return names.map((name) => {
    const values = rows.map((row) => row[name]).filter((value) => value !== undefined && value !== null);
    const shape = values.map(shapeOf).reduce(joined, { kind: 'none' });
    return { name, type: typeOf(shape), seen: values.length, example: values[0] };
  });
}

function shapeOf(value: unknown): Shape {
  if (typeof value === 'number') return { kind: Number.isInteger(value) ? 'BIGINT' : 'FLOAT' };
  if (typeof value === 'boolean') return { kind: 'BOOLEAN' };
  if (Array.isArray(value)) return { kind: 'ARRAY', item: value.map(shapeOf).reduce(joined, { kind: 'none' }) };
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== null);
    return { kind: 'STRUCT', members: new Map(members.map(([name, member]) => [name, shapeOf(member)])) };
  }
  return value === null || value === undefined ? { kind: 'none' } : { kind: 'STRING' };
}

/** What takes the values of both; what nothing else takes is a text. */
function joined(one: Shape, other: Shape): Shape {
  if (one.kind === 'none') return other;
  if (other.kind === 'none') return one;
  if (one.kind === 'ARRAY' && other.kind === 'ARRAY') return { kind: 'ARRAY', item: joined(one.item, other.item) };
  if (one.kind === 'STRUCT' && other.kind === 'STRUCT') {
    const members = new Map(one.members);
    for (const [name, shape] of other.members) members.set(name, joined(members.get(name) ?? { kind: 'none' }, shape));
    return { kind: 'STRUCT', members };
  }
  if (one.kind === other.kind) return one;
  const isNumber = ({ kind }: Shape) => kind === 'BIGINT' || kind === 'FLOAT';
  return isNumber(one) && isNumber(other) ? { kind: 'FLOAT' } : { kind: 'STRING' };
}

/** A type as statements write it; of what no row tells, a text. */
function typeOf(shape: Shape): string {
  if (shape.kind === 'ARRAY') return `ARRAY(${typeOf(shape.item)})`;
  if (shape.kind !== 'STRUCT') return shape.kind === 'none' ? 'STRING' : shape.kind;
  const members = [...shape.members].map(([name, member]) => `${quoted(name)} ${typeOf(member)}`);
  // A structure needs a member; one without any is a text.
  return members.length === 0 ? 'STRING' : `STRUCT(${members.join(', ')})`;
}

/** Words of statements that messages have as names too. */
const words = new Set(
  (
    'and array as asc bigint boolean bytea by case cross datetime desc else end false float format from full group ' +
    'having in inner is join key left like limit not null on or order right select string struct table then true ' +
    'type when where with'
  ).split(' '),
);

/** A name as statements take it. */
export function quoted(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) && !words.has(name.toLowerCase()) ? name : `\`${name}\``;
}

/** Options of a stream as the server describes them, by their names in statements. */
const optionNames: Readonly<Record<string, string>> = {
  retainSize: 'RETAIN_SIZE',
  confKey: 'CONF_KEY',
  strictValidation: 'STRICT_VALIDATION',
  timestampFormat: 'TIMESTAMP_FORMAT',
  bufferFullPolicy: 'BUFFER_FULL_POLICY',
};

/** The statement of a stream with these columns and the options that it has. */
export function declared(stream: string, columns: readonly GuessedColumn[], options: Row): string {
  const list = columns.map(({ name, type }) => `${quoted(name)} ${type}`);
  const given = Object.entries(options)
    .filter(([, value]) => value !== '' && value !== null)
    .map(([name, value]) => `${optionNames[name] ?? name.toUpperCase()}="${String(value).replaceAll('"', '\\"')}"`);
  return `CREATE STREAM ${quoted(stream)} (${list.join(', ')}) WITH (${given.join(', ')})`;
}
