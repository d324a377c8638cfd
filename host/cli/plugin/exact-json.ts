/**
 * JSON of rows, with all digits of whole numbers; which columns a stream has to declare so that an engine reads them
 * all.
 */

/** Stands in front of the digits of a whole number that no double holds. */
const mark = '\0digits:';
const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

/** Parses a JSON text; whole numbers beyond 2^53 are bigints. */
export function exactJson(text: string): unknown {
  const marked = text.replace(tokens, (token) =>
    /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? JSON.stringify(mark + token) : token,
  );
  return JSON.parse(marked, (_name, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}

/** Type of the values of a column, as a stream declares it. */
type Kind =
  /** `whole`: numbers that a double holds, or that are beyond all integers. */
  | { readonly type: 'unknown' | 'whole' | 'BIGINT' | 'FLOAT' | 'STRING' | 'BOOLEAN' }
  | { readonly type: 'ARRAY'; readonly of: Kind }
  | { readonly type: 'STRUCT'; readonly fields: ReadonlyMap<string, Kind> };

/**
 * Columns of rows as `CREATE STREAM` declares them, where some hold whole numbers that a stream without columns reads
 * as the nearest float: these are BIGINT, other numbers FLOAT as they are there. Empty where none does; undefined where
 * some do, but rows hold values of several types in one place.
 */
export function columnsOf(lines: readonly string[]): string | undefined {
  if (!lines.some((line) => /\d{16}/.test(line))) return '';
  let all: Kind = { type: 'unknown' };
  let hasLarge = false;
  const kindOf = (value: unknown): Kind => {
    if (value === null) return { type: 'unknown' };
    if (typeof value === 'bigint') {
      const isLong = BigInt.asIntN(64, value) === value;
      hasLarge ||= isLong;
      return { type: isLong ? 'BIGINT' : 'whole' };
    }
    if (typeof value === 'number') return { type: Number.isInteger(value) ? 'whole' : 'FLOAT' };
    if (typeof value === 'string') return { type: 'STRING' };
    if (typeof value === 'boolean') return { type: 'BOOLEAN' };
    if (Array.isArray(value)) return { type: 'ARRAY', of: value.map(kindOf).reduce(joined, { type: 'unknown' }) };
    const fields = Object.entries(value as object).map(([name, item]) => [name, kindOf(item)] as const);
    return { type: 'STRUCT', fields: new Map(fields) };
  };
  try {
    for (const line of lines) all = joined(all, kindOf(exactJson(line)));
  } catch {
    // Text that is not JSON becomes an error of its row.
    return hasLarge ? undefined : '';
  }
  return hasLarge && all.type === 'STRUCT' ? fieldsText(all.fields) : '';
}

/** Throws when no type holds both. */
function joined(one: Kind, other: Kind): Kind {
  if (one.type === 'unknown') return other;
  if (other.type === 'unknown') return one;
  if (one.type === 'ARRAY' && other.type === 'ARRAY') return { type: 'ARRAY', of: joined(one.of, other.of) };
  if (one.type === 'STRUCT' && other.type === 'STRUCT') {
    const fields = new Map(one.fields);
    for (const [name, kind] of other.fields) fields.set(name, joined(fields.get(name) ?? { type: 'unknown' }, kind));
    return { type: 'STRUCT', fields };
  }
  const isNumber = ({ type }: Kind) => type === 'BIGINT' || type === 'FLOAT';
  if (one.type === 'whole' && isNumber(other)) return other;
  if (other.type === 'whole' && isNumber(one)) return one;
  if (one.type !== other.type) throw new TypeError(`${one.type} and ${other.type}`);
  return one;
}

function fieldsText(fields: ReadonlyMap<string, Kind>): string {
  return [...fields].map(([name, kind]) => `\`${name}\` ${kindText(kind)}`).join(', ');
}

function kindText(kind: Kind): string {
  if (kind.type === 'ARRAY') return `ARRAY(${kindText(kind.of)})`;
  if (kind.type === 'STRUCT') return `STRUCT(${fieldsText(kind.fields)})`;
  if (kind.type === 'whole') return 'FLOAT';
  return kind.type === 'unknown' ? 'STRING' : kind.type;
}
