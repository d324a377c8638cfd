/** What statements may name: streams and tables, their columns, functions. */
import type { Completion } from '../../parts/code/editing.js';
import { spoken } from '../../parts/forms/spec.js';
import { ask } from '../../state/server.js';

/** Streams whose columns are asked for. */
const mostStreams = 50;

interface FunctionGroup {
  readonly functions: readonly { readonly name: string; readonly example?: string; readonly hint?: { en?: string } }[];
}

export async function completions(): Promise<readonly Completion[]> {
  const [streams, tables, functions] = await Promise.all([
    ask('GET /streams'),
    ask('GET /tables'),
    ask('GET /metadata/functions'),
  ]);
  const columns = await Promise.all([
    ...streams.slice(0, mostStreams).map((id) => columnsOf(id, ask('GET /streams/{id}/schema', { path: { id } }))),
    ...tables.slice(0, mostStreams).map((id) => columnsOf(id, ask('GET /tables/{id}/schema', { path: { id } }))),
  ]);
  return [
    ...[...streams, ...tables].map((label) => ({ label, type: 'class' as const })),
    ...columns.flat(),
    ...(functions as readonly FunctionGroup[]).flatMap((group) =>
      group.functions.map(({ name, example, hint }) => ({
        label: name,
        type: 'function' as const,
        detail: example ?? '',
        info: spoken(hint),
      })),
    ),
  ];
}

async function columnsOf(stream: string, schema: Promise<unknown>): Promise<Completion[]> {
  const columns = (await schema.catch(() => null)) ?? {};
  return Object.entries(columns as Record<string, { type?: string } | null>).map(([label, column]) => ({
    label,
    type: 'property',
    detail: `${column?.type ?? ''} · ${stream}`,
  }));
}
