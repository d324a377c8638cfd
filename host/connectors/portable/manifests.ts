/**
 * Sources and sinks of portable plugins as connectors. Nobody has declared their properties: they go to the plugin as
 * they are, those that the engine itself reads included.
 */
import { field } from '../../base/fields/field.js';
import type { PortableCode } from '../../plugins/portable/code.js';
import { commonSink, commonSource } from '../common.js';
import { type Connector, defineConnector } from '../define.js';
import { addManifests, removeManifest } from '../loaded.js';
import type { Sink, Source } from '../running.js';

type MakeSource = typeof import('./source.js').makeSource;
type MakeSink = typeof import('./sink.js').makeSink;

/** Programs whose sources and sinks are connectors, by the names of the plugins. */
const known = new Map<string, PortableCode>();

/** Sources and sinks of the plugin are connectors from now on. */
export function addPlugin(code: PortableCode): void {
  const former = known.get(code.name);
  if (former !== undefined && former.version >= code.version) return;
  removePlugin(code.name);
  addManifests(namesOf(code).map((name) => connectorFrom(name, code)));
  known.set(code.name, code);
}

export function removePlugin(plugin: string): void {
  const code = known.get(plugin);
  if (code !== undefined) for (const name of namesOf(code)) removeManifest(name);
  known.delete(plugin);
}

function namesOf({ sources, sinks }: PortableCode): string[] {
  return [...new Set([...sources, ...sinks])];
}

function connectorFrom(name: string, code: PortableCode): Connector {
  let makeSource: MakeSource | undefined;
  let makeSink: MakeSink | undefined;
  const made = defineConnector({
    name,
    doc: `Of the portable plugin ${code.name}.`,
    chinese: async () => (await import('./chinese.js')).chineseOf(code.name),
    ...(code.sources.includes(name) && {
      source: {
        dataSource: { doc: 'What the plugin makes of it' },
        showsDecoder: true,
        // Others, as interval, have a meaning of their own in plugins.
        props: { useInt64ForWholeNumber: commonSource.useInt64ForWholeNumber },
        form: () => ({ framing: 'frames', waits: true }) as const,
        load: async () => {
          ({ makeSource } = await import('./source.js'));
          return () => unmade<Source>(name);
        },
      },
    }),
    ...(code.sinks.includes(name) && {
      sink: {
        props: {
          ...commonSink,
          requireAck: field.bool().default(false).doc('The plugin confirms each message, or refuses it'),
        },
        form: { takes: 'messages', framing: 'messages' } as const,
        load: async () => {
          ({ makeSink } = await import('./sink.js'));
          return () => unmade<Sink>(name);
        },
      },
    }),
  });
  const { source, sink } = made;
  return {
    ...made,
    plugin: code,
    // What is made gets all properties, also those that nobody has declared.
    ...(source && {
      source: { ...source, create: (props, context) => makeSource?.(code, name, props, context) ?? unmade(name) },
    }),
    ...(sink && {
      sink: { ...sink, create: (props, context) => makeSink?.(code, name, props, context) ?? unmade(name) },
    }),
  };
}

function unmade<T>(name: string): T {
  throw new Error(`the connector ${name} is not loaded`);
}
