/** A sink without an engine, and what it tells of its messages, in order. */
import { connectorOf } from '../../../host/connectors/index.js';
import type { Sink, SinkChunk, SinkContext } from '../../../host/connectors/running.js';

export interface ToldSink {
  readonly sink: Sink;
  /** `1 out` for each message that was counted, or the reason of its refusal. */
  readonly told: string[];
  /** Reasons of lost connections. */
  readonly lost: string[];
  write(text: string, values: Record<string, unknown>): void;
}

export async function toldSink(
  type: string,
  props: Record<string, unknown>,
  dynamic: readonly string[],
): Promise<ToldSink> {
  const told: string[] = [];
  const lost: string[] = [];
  const context = {
    dynamic: new Set(dynamic),
    shared: <T>(_key: string, make: () => T) => make(),
    accepted: (_bytes: number, messages: number) => told.push(...Array(messages).fill('1 out')),
    refused: (message: Uint8Array, _bytes: number, _messages: number, reason: string) =>
      told.push(`${Buffer.from(message)}: ${reason}`),
    disconnected: (reason: string) => lost.push(reason),
  } as unknown as SinkContext;
  const { load, create, props: spec } = connectorOf(type)!.sink!;
  await load();
  const defaults = Object.entries(spec).map(([name, { declared }]) => [name, declared.default]);
  const sink = create({ ...Object.fromEntries(defaults), ...props }, context);
  const write = (text: string, values: Record<string, unknown>) => {
    const bytes = Buffer.from(text);
    const ends = Uint32Array.of(bytes.length);
    sink.write({ bytes, ends, messages: 1, rows: 1, errors: new Set(), values } as unknown as SinkChunk);
  };
  return { sink, told, lost, write };
}
