/**
 * Warnings on accepted statements that will hardly do what was meant: unknown names, options without effect, sources
 * that no rule can read.
 */
import { HaumeaError } from '../../base/errors.js';
import { field, type Spec, unknownIn, unusedIn } from '../../base/fields/field.js';
import { decodePropsOf, readsOption, readsProp } from '../../codecs/index.js';
import { connectorOf } from '../../connectors/index.js';
import { actionPath } from '../../model/actions.js';
import type { Catalog, RuleDefinition, SourceWarnings } from '../../model/engine.js';
import { idleSinkProps, sinkWishNames } from '../../plan/sinks/sinks.js';
import { formattedColumns, type OptionName, type StreamDefinition } from '../../sql/source-def.js';
import { checkSource } from '../props/resolve.js';

/** Properties of the sinks of a rule that nobody reads, a sentence each. */
export function sinkWarnings({ actions }: RuleDefinition): string[] {
  return actions.flatMap(({ type, props }, i) => {
    const { sink, plugin } = connectorOf(type) ?? {};
    const spec = sink?.props;
    // What a plugin makes of its properties is its own affair.
    if (spec === undefined || plugin !== undefined) return [];
    const where = actionPath(actions, i);
    return [
      ...unknownIn(allSinkProps(spec), props).map((text) => `${where}.${text}`),
      ...idleIn(props, spec)
        .filter((name) => !usualSinkProps.has(name))
        .map((name) => `${where}.${name} has no effect`),
      ...unusedIn(spec, props)
        .filter((name) => props[name] !== undefined)
        .map((name) => `${where}.${name} has no effect`),
    ];
  });
}

/** Properties without effect that actions for eKuiper usually have, a sentence each. */
export function sinkNotes({ actions }: RuleDefinition): string[] {
  return actions.flatMap(({ type, props }, i) => {
    const { sink, plugin } = connectorOf(type) ?? {};
    if (sink === undefined || plugin !== undefined) return [];
    return idleIn(props, sink.props)
      .filter((name) => usualSinkProps.has(name))
      .map((name) => `${actionPath(actions, i)}.${name} has no effect`);
  });
}

const usualSinkProps: ReadonlySet<string> = new Set([
  'concurrency',
  'runAsync',
  'retryInterval',
  'retryCount',
  'cacheLength',
  'cacheSaveInterval',
]);

/** Properties of all sinks of eKuiper that this sink does not have. */
function idleIn(props: Readonly<Record<string, unknown>>, spec: Spec): string[] {
  return idleSinkProps.filter(
    (name) => props[name] !== undefined && !Object.hasOwn(spec, name) && !readsProp(props, name),
  );
}

/**
 * Faults for which no rule could use a stream or table, a sentence each; `given` are the options written in its
 * statement.
 */
export function sourceWarnings(
  definition: StreamDefinition,
  given: ReadonlySet<OptionName>,
  catalog: Catalog,
): SourceWarnings {
  const { options } = definition;
  const refusal = refusalOf(definition, catalog);
  const dataSource = connectorOf(options.type)?.source?.dataSource;
  const idle = (isUsual: boolean) =>
    [...given]
      .filter((name) => usualOptions.has(name) === isUsual)
      .flatMap((name) => {
        const reason = idleReason(name, definition);
        return reason === undefined ? [] : [`the option ${name} has no effect${reason}`];
      });
  const warnings = [
    ...(refusal === undefined ? [] : [`no rule can read it: ${refusal}`]),
    ...unknownProps(definition, catalog),
    ...idle(false),
    ...(dataSource?.isNeeded === true && options.datasource === ''
      ? [`the option DATASOURCE is missing: ${dataSource.doc}`]
      : []),
  ];
  return { warnings, notes: idle(true) };
}

/** Options that statements for eKuiper have whether or not they do anything. */
const usualOptions: ReadonlySet<OptionName> = new Set([
  'KEY',
  'RETAIN_SIZE',
  'DATASOURCE',
  'STRICT_VALIDATION',
  'BUFFER_FULL_POLICY',
]);

/** Why every rule that reads it would be refused now; undefined when none would be for its sake. */
function refusalOf(definition: StreamDefinition, catalog: Catalog): string | undefined {
  try {
    checkSource(definition, catalog);
    return undefined;
  } catch (error) {
    if (!(error instanceof HaumeaError)) throw error;
    return error.message.replace(`stream ${definition.name}: `, '');
  }
}

/** Properties of EXTRA and of the configuration key that the connector does not know. */
function unknownProps({ options }: StreamDefinition, catalog: Catalog): string[] {
  const { type, confKey, extra } = options;
  const connector = connectorOf(type);
  const own =
    options.tableKind === 'lookup' ? (connector?.lookup?.asked ?? connector?.source)?.props : connector?.source?.props;
  // What a plugin makes of its properties is its own affair.
  if (own === undefined || connector?.plugin !== undefined) return [];
  const spec = { ...own, ...decodePropsOf(options.format) };
  const common = catalog.confKey(type, 'default') ?? {};
  const ofKey = Object.entries((confKey === null ? undefined : catalog.confKey(type, confKey)) ?? {});
  const ofOwnKey = Object.fromEntries(ofKey.filter(([name]) => !Object.hasOwn(common, name)));
  return [
    ...unknownIn(spec, extra ?? {}).map((text) => `the property ${text} (option EXTRA)`),
    ...unknownIn(spec, ofOwnKey).map((text) => `the property ${text} (configuration key ${confKey} of source ${type})`),
  ];
}

/** Text on why an option changes nothing, to be put behind `has no effect`; undefined when it does change something. */
function idleReason(name: OptionName, definition: StreamDefinition): string | undefined {
  const { kind, fields, options } = definition;
  switch (name) {
    case 'KIND':
      return kind === 'stream' ? ' on a stream' : undefined;
    case 'KEY':
      return options.tableKind === 'lookup' ? undefined : ' but on lookup tables';
    case 'RETAIN_SIZE':
      return options.tableKind === 'scan' ? undefined : ' but on scan tables';
    case 'DELIMITER':
    case 'SCHEMAID':
      return readsOption(options.format, name) ? undefined : ` with the format ${options.format}`;
    case 'STRICT_VALIDATION':
      return options.strictValidation && fields === null ? ' without declared columns' : undefined;
    case 'TIMESTAMP_FORMAT':
      return options.timestamp === null && formattedColumns(definition).length === 0 ? ' without TIMESTAMP' : undefined;
    case 'BUFFER_FULL_POLICY':
      return ': a source waits while its sinks are behind';
    case 'DATASOURCE': {
      const source = connectorOf(options.type)?.source;
      return source !== undefined && source.dataSource === undefined ? ` with the type ${options.type}` : undefined;
    }
    default:
      return undefined;
  }
}

const extended = new WeakMap<Spec, Spec>();

/** Returns the properties of a sink with those that all sinks have: only their names are looked at. */
export function allSinkProps(spec: Spec): Spec {
  let all = extended.get(spec);
  if (all === undefined) {
    const common = [...sinkWishNames, ...idleSinkProps].map((name) => [name, field.any()] as const);
    all = { ...Object.fromEntries(common), ...spec };
    extended.set(spec, all);
  }
  return all;
}
