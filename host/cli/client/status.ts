/** Readable forms of rule status, topology, stream descriptions and import status. */
import { isObject } from '../../base/structures/is-object.js';
import { members, table } from './print.js';

/** Every metric a node has, longest first, to tell it from the node's name. */
const metrics = [
  'records_in_total|records_out_total|messages_processed_total|process_latency_us|buffer_length|last_invocation',
  'exceptions_total|last_exception_time|last_exception|connection_\\w+',
];
const nodeMetric = new RegExp(`^(.+)_\\d+_(${metrics.join('|')})$`);

/** Prints the state of a rule, its totals and a table of its operators. */
export function statusText(status: Readonly<Record<string, unknown>>): string {
  const nodes = new Map<string, Record<string, unknown>>();
  const general: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(status)) {
    const match = nodeMetric.exec(name);
    if (match === null) {
      general[name] = /Timestamp$/.test(name) ? timeText(value) : value;
      continue;
    }
    const [, node, metric] = match as unknown as [string, string, string];
    const row = nodes.get(node) ?? { node };
    // Parallel instances of an operator add up.
    const before = row[metric];
    row[metric] = typeof before === 'number' && typeof value === 'number' ? before + value : value;
    nodes.set(node, row);
  }
  const rows = [...nodes.values()].map((row) => ({
    node: row.node,
    in: row.records_in_total,
    out: row.records_out_total,
    errors: row.exceptions_total,
    'latency us': row.process_latency_us,
    buffer: row.buffer_length,
    connection: connectionText(row.connection_status),
    'last error': row.last_exception,
  }));
  return members(general) + (rows.length === 0 ? '' : `\n${table(rows)}`);
}

/** Tells whether a state text says that the rule has failed. */
export function isFailed(status: unknown): boolean {
  return typeof status === 'string' && /by error/i.test(status);
}

function connectionText(status: unknown): string {
  if (status === 1) return 'connected';
  if (status === 0) return 'connecting';
  return status === -1 ? 'disconnected' : '';
}

function timeText(value: unknown): unknown {
  if (typeof value !== 'number') return value;
  return value === 0 ? '' : new Date(value).toISOString();
}

/** Prints the operators of a rule as a tree below their sources. */
export function topologyText(topology: Readonly<Record<string, unknown>>): string {
  const edges = isObject(topology.edges) ? topology.edges : {};
  const lines: string[] = [];
  const walk = (node: string, depth: number, above: readonly string[]) => {
    lines.push(`${'  '.repeat(depth)}${node}\n`);
    const next = edges[node];
    if (!Array.isArray(next) || above.includes(node)) return;
    for (const below of next) walk(String(below), depth + 1, [...above, node]);
  };
  for (const source of Array.isArray(topology.sources) ? topology.sources : []) walk(String(source), 0, []);
  return lines.join('');
}

/** Effects of an update on the state of a rule, one line each. */
export function previewText({ state, warnings }: Readonly<Record<string, unknown>>): string {
  const { kept, lost, empty } = isObject(state) ? state : {};
  const lines = (title: string, texts: unknown) =>
    (Array.isArray(texts) ? texts : []).map((text) => `${title}  ${text}\n`);
  const all = [...lines('kept ', kept), ...lines('lost ', lost), ...lines('empty', empty)];
  const told = (Array.isArray(warnings) ? warnings : []).map((text) => `Warning: ${text}\n`);
  const head = all.length === 0 ? 'There is no state that the update could lose.\n' : '';
  return `${head}${all.join('')}${told.join('')}Nothing was changed: this was a dry run.\n`;
}

const typeNames = ['unknown', 'bigint', 'float', 'string', 'bytea', 'datetime', 'boolean', 'array', 'struct'];

/** Prints the columns and options of a stream or table. */
export function sourceText(described: Readonly<Record<string, unknown>>): string {
  const fields = Array.isArray(described.StreamFields) ? described.StreamFields.filter(isObject) : [];
  const rows = fields.map((field) => ({ field: field.Name, type: typeText(field.FieldType) }));
  const columns = rows.length === 0 ? 'No declared fields\n' : table(rows);
  const options = isObject(described.Options) ? described.Options : {};
  const shown = Object.fromEntries(Object.entries(options).map(([name, value]) => [name.toUpperCase(), value]));
  return `${columns}\n${members(shown)}`;
}

/** `bigint`, `array(string)`, `struct(x bigint, y float)`: as in the statement that creates the stream. */
function typeText(type: unknown): string {
  if (typeof type === 'number') return typeNames[type] ?? String(type);
  if (!isObject(type)) return String(type);
  const name = typeText(type.Type);
  if (type.ElementType !== undefined) return `${name}(${typeText(type.ElementType)})`;
  if (!Array.isArray(type.Fields)) return name;
  return `${name}(${type.Fields.map((field) => `${field.Name} ${typeText(field.FieldType)}`).join(', ')})`;
}

/** Lists what an import could not take over; empty when it was complete. */
export function importFailures(status: unknown): { kind: string; name: string; reason: string }[] {
  if (!isObject(status)) return [];
  return Object.entries(status).flatMap(([kind, items]) =>
    isObject(items) ? Object.entries(items).map(([name, reason]) => ({ kind, name, reason: String(reason) })) : [],
  );
}
