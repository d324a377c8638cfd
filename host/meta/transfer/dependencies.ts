/** Dependencies of a rule, so that they can be exported together with it. */
import { isObject } from '../../base/structures/is-object.js';
import type { Query } from '../../sql/ast.js';
import { parseQuery } from '../../sql/parser.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import { forEachExpression, selectsIn, streamsIn, walk } from '../../sql/visit.js';
import type { RuleJson } from '../definitions/rule-definition.js';
import type { Items } from './document.js';
import type { SectionName } from './sections.js';

export interface DependencyLookup {
  source(name: string): StreamDefinition | undefined;
  /** Owner of a function that a user has installed: `javascript function area`. */
  brought?(name: string): { readonly owner: string } | undefined;
}

/** Sections of what brings functions, by the kind that leads the name of an owner. */
const ownerSections: readonly (readonly [kind: string, section: SectionName, prefix: string])[] = [
  ['javascript function', 'scripts', ''],
  ['service', 'Service', ''],
  ['portable plugin', 'portablePlugins', ''],
  ['wasm plugin', 'nativePlugins', 'wasm_'],
  ['functions plugin', 'nativePlugins', 'functions_'],
];

/** Picks from all items the rules and what they refer to. */
export function itemsOfRules(
  all: Items<string>,
  rules: ReadonlyMap<string, RuleJson>,
  lookup: DependencyLookup,
): Items<string> {
  const picked = new Picker(all, lookup);
  for (const [id, rule] of rules) picked.rule(id, rule);
  return picked.items;
}

class Picker {
  readonly items = new Map<SectionName, Map<string, string>>();
  readonly #all: Items<string>;
  readonly #lookup: DependencyLookup;

  constructor(all: Items<string>, lookup: DependencyLookup) {
    this.#all = all;
    this.#lookup = lookup;
  }

  rule(id: string, rule: RuleJson): void {
    this.#pick('rules', id);
    if (rule.sql) this.#query(rule.sql);
    for (const action of rule.actions ?? []) {
      for (const [type, props] of Object.entries(action)) this.#sink(type, props);
    }
    if (isObject(rule.graph) && isObject(rule.graph.nodes)) {
      for (const node of Object.values(rule.graph.nodes)) this.#node(node);
    }
  }

  #query(sql: string): void {
    let query: Query;
    try {
      query = parseQuery(sql);
    } catch {
      // A rule that can't be read is exported as it is.
      return;
    }
    for (const { name } of streamsIn(query)) this.#stream(name);
    for (const select of selectsIn(query)) {
      forEachExpression(select, (expr) => {
        walk(expr, (part) => {
          if (part.kind === 'call') this.#function(part.name);
          return undefined;
        });
      });
    }
  }

  #stream(name: string): void {
    const definition = this.#lookup.source(name);
    if (definition === undefined) return;
    const { type, confKey, schemaId, format, extra } = definition.options;
    this.#pick(definition.kind === 'table' ? 'tables' : 'streams', name);
    if (confKey !== null) this.#key('sourceConfig', type, confKey);
    this.#schema(format, schemaId);
    this.#connection(extra?.connectionSelector);
    this.#pick('portablePlugins', type);
    this.#pick('nativePlugins', `sources_${type}`);
  }

  #sink(type: string, props: unknown): void {
    this.#pick('portablePlugins', type);
    this.#pick('nativePlugins', `sinks_${type}`);
    if (!isObject(props)) return;
    const { resourceId, connectionSelector, format, schemaId, deadLetter } = props;
    if (isObject(deadLetter)) for (const [name, own] of Object.entries(deadLetter)) this.#sink(name, own);
    if (typeof resourceId === 'string') this.#key('sinkConfig', type, resourceId);
    this.#connection(connectionSelector);
    if (typeof format === 'string' && typeof schemaId === 'string') this.#schema(format, schemaId);
  }

  #node(node: unknown): void {
    if (!isObject(node) || typeof node.nodeType !== 'string') return;
    const props = isObject(node.props) ? node.props : {};
    if (node.type === 'sink') this.#sink(node.nodeType, props);
    if (node.type === 'source') {
      if (typeof props.sourceName === 'string') this.#stream(props.sourceName);
      const key = props.confKey ?? props.CONF_KEY;
      if (typeof key === 'string') this.#key('sourceConfig', node.nodeType, key);
      this.#connection(props.connectionSelector);
    }
  }

  #function(name: string): void {
    const owner = this.#lookup.brought?.(name)?.owner;
    if (owner === undefined) return;
    for (const [kind, section, prefix] of ownerSections) {
      if (owner.startsWith(`${kind} `)) this.#pick(section, prefix + owner.slice(kind.length + 1));
    }
  }

  #schema(format: string, schemaId: string | null): void {
    if (schemaId === null) return;
    const type = format.toLowerCase();
    // Several may be named, with a comma between them.
    const names = schemaId.split(',').map((one) => one.trim().split('.')[0] ?? '');
    for (const one of names) this.#pick('Schema', `${type}_${one}`);
    const [name = ''] = names;
    if (type !== 'custom') return;
    const schema = this.#all.get('Schema')?.get(`${type}_${name}`);
    const plugin: unknown = schema === undefined ? name : (JSON.parse(schema) as Record<string, unknown>).plugin;
    if (typeof plugin === 'string') this.#pick('nativePlugins', `wasm_${plugin}`);
  }

  /** One key of a connector; it may name a connection in turn. */
  #key(section: 'sourceConfig' | 'sinkConfig', type: string, key: string): void {
    const properties = this.#pickMember(section, type, key);
    if (isObject(properties)) this.#connection(properties.connectionSelector);
  }

  #connection(selector: unknown): void {
    if (typeof selector !== 'string') return;
    for (const type of this.#all.get('connectionConfig')?.keys() ?? []) {
      this.#pickMember('connectionConfig', type, selector);
    }
  }

  /** Picks one member of an item that holds a JSON object; returns its value. */
  #pickMember(section: SectionName, name: string, member: string): unknown {
    const text = this.#all.get(section)?.get(name);
    if (text === undefined) return undefined;
    const value = (JSON.parse(text) as Record<string, unknown>)[member];
    if (value === undefined) return undefined;
    const had = JSON.parse(this.#section(section).get(name) ?? '{}') as Record<string, unknown>;
    this.#section(section).set(name, JSON.stringify({ ...had, [member]: value }));
    return value;
  }

  #pick(section: SectionName, name: string): void {
    const text = this.#all.get(section)?.get(name);
    if (text !== undefined) this.#section(section).set(name, text);
  }

  #section(section: SectionName): Map<string, string> {
    const items = this.items.get(section) ?? new Map<string, string>();
    this.items.set(section, items);
    return items;
  }
}
