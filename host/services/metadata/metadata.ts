/** Catalogues for user interfaces: connectors, functions, operators and the forms of their properties. */

import type { Spec } from '../../base/fields/field.js';
import type { FormTexts } from '../../base/fields/form-texts.js';
import { chineseForm } from '../../connectors/chinese.js';
import type { Connector } from '../../connectors/define.js';
import type { ConfKeyRepository } from '../../meta/definitions/conf-keys.js';
import type { RecordRepository } from '../../meta/definitions/records.js';
import { sourceErrors } from '../errors/sources.js';
import { shownKeys } from '../sources/conf-keys.js';
import type { ConnectionRecord } from '../sources/connections.js';
import type { PluginForm } from './plugin-form.js';
import { type About, about, type FormContext, type FormField, formOf, type Text, text } from './property-form.js';
import { wordTexts } from './words-chinese.js';

/** A function as its declaration describes it. */
export interface FunctionInfo {
  readonly name: string;
  readonly category: string;
  readonly args: readonly {
    readonly name: string;
    readonly type: string;
    readonly optional?: boolean;
    readonly variadic?: boolean;
  }[];
  readonly returns: string;
  readonly doc: string;
  readonly example: string;
  readonly implementation: object;
}

export interface MetadataOptions {
  /** Declarations of the connectors that users may name, those of plugins included. */
  readonly connectors: () => readonly Connector[];
  readonly functions: () => readonly FunctionInfo[];
  readonly confKeys: ConfKeyRepository;
  readonly connections: RecordRepository<ConnectionRecord>;
}

interface Entry {
  readonly name: string;
  readonly about: About;
  readonly type: 'internal' | 'portable';
}

interface Node {
  readonly category: string;
  readonly icon: string;
  readonly label: Text;
}

type Owner = 'sources' | 'sinks' | 'connections';

const partOf = { sources: 'source', sinks: 'sink', connections: 'connection' } as const;

const outputs = [{ label: text('Output', wordTexts.output), value: 'signal' }];

export class MetadataService {
  readonly #options: MetadataOptions;

  constructor(options: MetadataOptions) {
    this.#options = options;
  }

  /** Lists connectors; of the sources those of a kind, `scan` (streams and tables) or `lookup`. */
  async list(owner: Owner, kind = 'scan'): Promise<Entry[]> {
    const all = this.#connectors(owner);
    const isLookup = owner === 'sources' && kind.toLowerCase() === 'lookup';
    const isTaken = ({ source, lookup }: Connector) =>
      owner !== 'sources' || (isLookup ? lookup : source) !== undefined;
    const found = await Promise.all(
      all.filter(isTaken).map(async (connector): Promise<Entry> => {
        const { name, doc } = connector;
        const form = await formOfPlugin(connector, owner);
        const shown = form?.about ?? about(doc, await chineseForm(connector, partOf[owner]));
        return { name, about: shown, type: typeOf(connector) };
      }),
    );
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The form of a source: the properties of its configuration keys. */
  async source(name: string): Promise<Record<string, unknown>> {
    const connector = this.#connector('sources', name);
    const form = await formOfPlugin(connector, 'sources');
    if (form !== undefined) return { ...form, outputs, type: typeOf(connector) };
    const { doc, source, lookup, connection } = connector;
    const chinese = await chineseForm(connector, 'source');
    const hint = (source ?? lookup)?.dataSource;
    const props = source?.props ?? lookup?.asked?.props ?? {};
    return {
      about: about(doc, chinese),
      libs: [],
      dataSource:
        hint === undefined
          ? {}
          : {
              default: '',
              hint: text(hint.doc, chinese?.dataSource),
              label: text('Data source', wordTexts.dataSource),
            },
      properties: { default: formOf(props, this.#context(name, connection?.props, chinese)) },
      outputs,
      node: nodeOf('source', name, chinese),
      type: typeOf(connector),
    };
  }

  async sink(name: string): Promise<Record<string, unknown>> {
    const connector = this.#connector('sinks', name);
    const form = await formOfPlugin(connector, 'sinks');
    if (form !== undefined) {
      const { dataSource: _ofSources, ...rest } = form;
      return { ...rest, type: typeOf(connector) };
    }
    const { doc, sink, connection } = connector;
    const chinese = await chineseForm(connector, 'sink');
    return {
      about: about(doc, chinese),
      libs: [],
      properties: formOf(sink?.props ?? {}, this.#context(name, connection?.props, chinese)),
      node: nodeOf('sink', name, chinese),
      type: typeOf(connector),
    };
  }

  async connection(name: string): Promise<Record<string, unknown>> {
    const connector = this.#connector('connections', name);
    const { doc, connection } = connector;
    const chinese = await chineseForm(connector, 'connection');
    return {
      about: about(doc, chinese),
      libs: [],
      properties: { default: formOf(connection?.props ?? {}, { connection: connection?.props, chinese }) },
      node: nodeOf('connection', name, chinese),
      type: typeOf(connector),
    };
  }

  /** Functions by category. */
  functions(): { name: string; about: About; functions: Record<string, unknown>[] }[] {
    const groups = new Map<string, Record<string, unknown>[]>();
    for (const info of this.#options.functions()) {
      const group = groups.get(info.category) ?? [];
      groups.set(info.category, group);
      group.push(functionOf(info));
    }
    return [...groups].map(([name, functions]) => ({
      name,
      about: about(`Built-in functions: ${name}`),
      functions,
    }));
  }

  async operators(): Promise<Record<string, unknown>[]> {
    // Tables for user interfaces: most servers never show them.
    const { operators } = await import('./operators.js');
    const { operatorTexts } = await import('./operators-chinese.js');
    return operators.map(({ name, doc, properties, input, output, strategy }) => ({
      name,
      about: about(doc, operatorTexts[name]),
      properties: formOf(properties, { chinese: operatorTexts[name] }),
      node: {
        ...nodeOf('operator', name, operatorTexts[name]),
        display: true,
        input: { type: input, rowType: 'any', collectionType: 'any' },
        output: { type: output, strategy },
      },
    }));
  }

  /** Configuration keys that clients have registered: for each connector an object of key → connector. */
  resources(): Record<Owner, Record<string, string>[]> {
    const of = (owner: Owner) => {
      const byConnector = new Map<string, [string, string][]>();
      for (const [connector, key] of this.#options.confKeys.names(owner)) {
        byConnector.set(connector, [...(byConnector.get(connector) ?? []), [key, connector]]);
      }
      return [...byConnector.values()].map((keys) => Object.fromEntries(keys));
    };
    return { sources: of('sources'), sinks: of('sinks'), connections: of('connections') };
  }

  /**
   * Configuration keys of all sources by source and key; with a type only those whose property `sourceType` says it, as
   * programs that manage streams mark their own.
   */
  resource(sourceType = ''): Record<string, unknown> {
    const found = Object.entries(this.#options.confKeys.sources()).map(([source, keys]) => {
      const own = Object.entries(keys).filter(([, props]) => sourceType === '' || props.sourceType === sourceType);
      return [source, Object.fromEntries(own)] as const;
    });
    const shown = found.filter(([, keys]) => Object.keys(keys).length > 0);
    return Object.fromEntries(shown.map(([source, keys]) => [source, shownKeys('sources', source, keys)]));
  }

  #context(name: string, connection: Spec | undefined, chinese: FormTexts | undefined): FormContext {
    const ofType = this.#options.connections.list().filter(([, { typ }]) => typ === name);
    return { connection, selectable: ofType.map(([id]) => id), chinese };
  }

  #connectors(owner: Owner): readonly Connector[] {
    const plays: Record<Owner, (connector: Connector) => boolean> = {
      sources: ({ source, lookup }) => source !== undefined || lookup?.asked !== undefined,
      sinks: ({ sink }) => sink !== undefined,
      connections: ({ connection }) => connection?.ping !== undefined,
    };
    return this.#options.connectors().filter(plays[owner]);
  }

  #connector(owner: Owner, name: string): Connector {
    const found = this.#connectors(owner).find((connector) => connector.name === name);
    if (found !== undefined) return found;
    throw sourceErrors.noForm(owner.slice(0, -1), name);
  }
}

function typeOf({ plugin }: Connector): Entry['type'] {
  return plugin === undefined ? 'internal' : 'portable';
}

/** The form that a plugin brings of a connector of its own. */
async function formOfPlugin({ plugin, name }: Connector, owner: Owner): Promise<PluginForm | undefined> {
  if (plugin === undefined || owner === 'connections') return undefined;
  const { pluginForm } = await import('./plugin-form.js');
  return pluginForm(plugin, owner, name);
}

function functionOf(info: FunctionInfo): Record<string, unknown> {
  const { name, args, returns, doc, example, implementation } = info;
  return {
    name,
    example,
    aggregate: 'aggregate' in implementation,
    hint: text(doc),
    args: args.map(
      ({
        name: arg,
        type,
        optional = false,
        variadic = false,
      }): Omit<FormField, 'default' | 'connection_related' | 'exist' | 'values'> => ({
        name: arg,
        optional,
        control: variadic ? 'list' : 'field',
        type,
        hint: text(arg),
        label: text(arg),
      }),
    ),
    return: { type: returns, hint: text(returns) },
    node: nodeOf('function', name),
  };
}

function nodeOf(category: string, name: string, chinese?: FormTexts): Node {
  return { category, icon: 'iconPath', label: text(name.charAt(0).toUpperCase() + name.slice(1), chinese?.name) };
}
