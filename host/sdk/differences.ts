/** Definitions beside each other: what an import would change, and the lines in which two texts differ. */

export type Kind = 'new' | 'changed' | 'removed' | 'same';

export interface Difference {
  readonly section: string;
  readonly name: string;
  readonly kind: Kind;
  /** The text that the server has, and the one of the document; empty where there is none. */
  readonly before: string;
  readonly after: string;
}

/** An export document: items by section and name. */
export type Definitions = Readonly<Record<string, Readonly<Record<string, unknown>> | null>>;

/** Settings of connectors, which YAML has as `sources.mqtt.key`. */
const configWords: Readonly<Record<string, string>> = {
  sourceConfig: 'sources',
  sinkConfig: 'sinks',
  connectionConfig: 'connections',
};

/** @param isPartial items that the document does not name stay */
export function differencesOf(now: Definitions, wanted: Definitions, isPartial: boolean): readonly Difference[] {
  const before = itemsOf(now);
  const after = itemsOf(wanted);
  const keys = isPartial ? [...after.keys()] : [...new Set([...after.keys(), ...before.keys()])];
  return keys.map((key) => {
    const [section = '', name = ''] = JSON.parse(key) as string[];
    const [old, next] = [before.get(key), after.get(key)];
    const kind = next === undefined ? 'removed' : old === undefined ? 'new' : isSame(old, next) ? 'same' : 'changed';
    return { section, name, kind, before: shown(old), after: shown(next) };
  });
}

/**
 * Items of a document by section and name (a JSON list of both); keys of connectors are an item each, as YAML has them.
 */
export function itemsOf(definitions: Definitions): ReadonlyMap<string, unknown> {
  const items = new Map<string, unknown>();
  for (const [section, values] of Object.entries(definitions)) {
    for (const [name, value] of Object.entries(values ?? {})) {
      const read = readItem(section, value);
      const word = configWords[section];
      if (word === undefined || name.startsWith(`${word}.`) || !isTree(read)) {
        items.set(JSON.stringify([section, name]), read);
        continue;
      }
      for (const [key, props] of Object.entries(read)) {
        items.set(JSON.stringify([section, `${word}.${name}.${key}`]), props);
      }
    }
  }
  return items;
}

/** An item as it is meant: texts of JSON are objects, statements are texts. */
function readItem(section: string, value: unknown): unknown {
  if (section === 'streams' || section === 'tables') return isTree(value) ? value.sql : value;
  const read = typeof value === 'string' ? parsed(value) : value;
  if (section !== 'rules' || !isTree(read)) return read;
  // A rule has its id in its name as well, and runs unless it says otherwise.
  const { id: _id, ...rule } = read;
  return { triggered: true, ...rule };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Equal values. A mask of the server is equal to a mask alone: what it hides may be another password. */
function isSame(old: unknown, next: unknown): boolean {
  if (typeof old === 'string' && typeof next === 'string') return old.trim() === next.trim();
  if (Array.isArray(old) && Array.isArray(next)) {
    return old.length === next.length && old.every((value, i) => isSame(value, next[i]));
  }
  if (!isTree(old) || !isTree(next)) return old === next;
  const names = new Set([...Object.keys(old), ...Object.keys(next)]);
  return [...names].every((name) => isSame(old[name], next[name]));
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An item for people to read. */
export function shown(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2);
}

/** A line of a text, and whether it is of the old one, of the new one or of both. */
export interface Line {
  readonly sign: '-' | '+' | ' ';
  readonly text: string;
}

/** Longer texts are shown one behind the other: comparing takes the product of their lengths. */
const mostLines = 400;

/** The lines of two texts, those they have in common once. */
export function linesOf(before: string, after: string): readonly Line[] {
  const [old, next] = [before, after].map((text) => (text === '' ? [] : text.split('\n'))) as [string[], string[]];
  const alone = (sign: '-' | '+', lines: readonly string[]) => lines.map((text): Line => ({ sign, text }));
  if (old.length > mostLines || next.length > mostLines) return [...alone('-', old), ...alone('+', next)];
  // Lengths of the longest common parts of what follows each pair of lines.
  const common = old.concat('').map(() => new Array<number>(next.length + 1).fill(0));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let k = next.length - 1; k >= 0; k--) {
      common[i]![k] =
        old[i] === next[k] ? common[i + 1]![k + 1]! + 1 : Math.max(common[i + 1]![k]!, common[i]![k + 1]!);
    }
  }
  const lines: Line[] = [];
  let [i, k] = [0, 0];
  while (i < old.length && k < next.length) {
    if (old[i] === next[k]) {
      lines.push({ sign: ' ', text: old[i]! });
      i++;
      k++;
    } else if (common[i + 1]![k]! >= common[i]![k + 1]!) lines.push({ sign: '-', text: old[i++]! });
    else lines.push({ sign: '+', text: next[k++]! });
  }
  return [...lines, ...alone('-', old.slice(i)), ...alone('+', next.slice(k))];
}
