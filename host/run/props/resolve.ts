/** Puts together what a source or sink gets: properties by their layers, format, declared columns. */
import type { ColumnType, ConstValue, RulePlan } from '../../../kernels/plan/ir.js';
import { asKind, HaumeaError } from '../../base/errors.js';
import type { Spec } from '../../base/fields/field.js';
import { allOf, type Redact, redactedError } from '../../base/secrets/redact.js';
import { nearest } from '../../base/text/nearest.js';
import { decodeOf, decodePropsOf, defaultFormat, secretEncodeProps } from '../../codecs/index.js';
import type { AskedPart, Connector, SourcePart } from '../../connectors/define.js';
import { connectorOf, givenRowsType, isKeptTable, unknownConnector } from '../../connectors/index.js';
import { encryptsItself, sealOf } from '../../connectors/seal.js';
import { deadLettersFor } from '../../model/actions.js';
import type { Access, Catalog, RuleDefinition, RuleGraph } from '../../model/engine.js';
import { streamsOf } from '../../plan/graph/streams.js';
import { callWaiting } from '../../plan/logical/call.js';
import type { UserFunction } from '../../plugins/define.js';
import type { Expr, FieldDef, FieldType } from '../../sql/ast.js';
import { formattedColumns, type StreamDefinition } from '../../sql/source-def.js';
import type { LookupSpec, SinkSpec, SourceSpec } from '../link/protocol.js';
import { checkFiles, checkWritten, freeAccess, withFiles } from './access.js';
import { propErrors } from './errors.js';
import { orderedColumns } from './format-functions.js';
import { decoderOf, decoderWithin, encoderOf, encoderSettingsOf, errorTitle } from './format-parts.js';
import { withScripts } from './graph-scripts.js';
import { knownProps, type StreamProps } from './known-props.js';
import { joinLayers, type Layer } from './layers.js';
import { messagesAfterOther, messagesOf } from './messages.js';
import { payloadOf } from './payloads.js';
import { withRetryQueues } from './retry-queues.js';
import { missingSecret, type ResolvedProps, resolveProps } from './secret-props.js';
import { cacheSettings } from './sink-caches.js';

type Props = Record<string, unknown>;

/** Key of the properties that hold for every stream of a connector. */
const defaultKey = 'default';

/** Something that the rule names is not there now: the rule is good but can't run, and may once it is there. */
export class MissingPart extends HaumeaError {
  constructor(message: string) {
    super('config', message);
  }
}

/** The named connection. */
class MissingConnection extends MissingPart {
  constructor(whose: string, id: string) {
    super(`${whose}: connection ${id} not found`);
  }
}

/** A secret that a document left out from which the definition was imported. */
export class MissingSecret extends MissingPart {}

/**
 * Resolves a stream; throws HaumeaError `unknownConnector`, `config` or `stream` with the reason. `redacts` gets what
 * masks the secrets of its properties.
 */
export function sourceSpec(definition: StreamDefinition, catalog: Catalog, redacts: Redact[] = []): SourceSpec {
  return resolvedSource(definition, catalog, redacts).spec;
}

/** As `sourceSpec`, with the function that decodes the messages where the kernel does not. */
function resolvedSource(
  definition: StreamDefinition,
  catalog: Catalog,
  redacts: Redact[],
  readsMeta = false,
): { spec: SourceSpec; codecs: (UserFunction | undefined)[] } {
  const { name, options, fields } = definition;
  const { type, format } = options;
  const connector = connectorOf(type);
  if (connector?.source === undefined) throw unknownConnector('source', type);
  const decode = decodeOf(format);
  if (decode === undefined) {
    throw propErrors.noFormat(name, format);
  }
  const formatted = new Set(formattedColumns(definition));
  const schema =
    fields === null || decode.isWhole === true
      ? null
      : fields.map((field) => columnOf(field, formatted.has(field.name)));
  const { props: given, secrets } = propsOf(definition, connector, connector.source, catalog, redacts);
  const { metaProp } = connector.source;
  // Who comes to a shared stream later may read metadata as well.
  const props = metaProp !== undefined && (readsMeta || options.shared) ? { ...given, [metaProp]: true } : given;
  const payload = payloadOf(definition, connector.source.props, props);
  const { outer, within } =
    payload === undefined
      ? { outer: decoderOf(definition, { props, schema }, catalog), within: undefined }
      : decoderWithin(definition, payload, { props, schema }, catalog);
  if (decode.isBinary === true && connector.source.form(props).framing === 'lines') {
    throw propErrors.noLines(name, format);
  }
  const program = programOf(connector.source.program?.(props, options.datasource), `stream ${name}`, catalog);
  const spec: SourceSpec = {
    name,
    type,
    dataSource: options.datasource,
    props,
    // Lookup tables are kept once for all. Who comes while others read a file would have the rest of it only.
    isShared:
      options.tableKind === 'lookup' ||
      (options.shared && !(definition.kind === 'table' && connector.source.form(props).endsSoon === true)),
    format: outer === undefined && payload === undefined ? decode.kernel : 'coded',
    ...decode.stream?.(options),
    ...(payload === undefined && decode.kernel === 'protobuf' && { messages: messagesOf(definition, catalog) }),
    ...((outer ?? payload) && {
      decoder: {
        fn: outer?.number ?? 0,
        errorsBeginWith: `stream ${name}: ${outer === undefined ? `format ${format}` : errorTitle(outer)}: `,
        ...(payload && { payload: { field: payload.field, fn: within?.number ?? 0 } }),
      },
    }),
    schema: payload === undefined ? orderedColumns(format, props, schema) : schema,
    strict: options.strictValidation,
    ...(secrets.length === 0 ? {} : { secrets }),
    ...(program && { program: program.number }),
  };
  return { spec, codecs: [outer, within, program] };
}

/** Whether it is a lookup table whose connector is asked for rows. */
export function isAsked({ options }: StreamDefinition): boolean {
  return options.tableKind === 'lookup' && connectorOf(options.type)?.lookup?.asked !== undefined;
}

/** Resolves a lookup table that is asked for rows; throws as `sourceSpec`. */
export function lookupSpec(definition: StreamDefinition, catalog: Catalog, redacts: Redact[] = []): LookupSpec {
  const { name, options } = definition;
  const { type } = options;
  const connector = connectorOf(type);
  const part = connector?.lookup?.asked;
  if (connector === undefined || part === undefined) {
    throw propErrors.noLookup(name, type);
  }
  const { props, secrets } = propsOf(definition, connector, part, catalog, redacts);
  return {
    name,
    type,
    dataSource: options.datasource,
    props,
    waiting: part.waiting(props),
    ...(secrets.length === 0 ? {} : { secrets }),
  };
}

/** Spec of a lookup that asks a function which answers later. */
function callSpec(name: string, catalog: Catalog): LookupSpec {
  const call = catalog.brought?.(name)?.run;
  if (call === undefined) throw propErrors.noFunction(name);
  return { name, type: 'function', dataSource: '', props: {}, waiting: callWaiting(call.code), call };
}

/** Checks a stream or table as the start of a rule would; what its connector can't work with is a `sink` error. */
export function checkSource(definition: StreamDefinition, catalog: Catalog): void {
  const { tableKind, type } = definition.options;
  try {
    if (tableKind === 'lookup' && !isKeptTable(type)) lookupSpec(definition, catalog);
    else sourceSpec(definition, catalog);
  } catch (error) {
    const isRefused = error instanceof HaumeaError && ['config', 'stream'].includes(error.kind);
    throw isRefused && !(error instanceof MissingPart) ? asKind('sink', error) : error;
  }
}

/** How the source of a stream tells that there is nothing to read; undefined where it can't. */
function absentOf({ options: { tableKind, type } }: StreamDefinition): SourcePart['absent'] {
  return tableKind === 'lookup' && !isKeptTable(type) ? undefined : connectorOf(type)?.source?.absent;
}

export function canBeAbsent(definition: StreamDefinition): boolean {
  return absentOf(definition) !== undefined;
}

/** Throws a `sink` error when there is nothing that a source could read now. */
export function checkThere(definition: StreamDefinition, catalog: Catalog): void {
  const { name, options } = definition;
  const absent = absentOf(definition);
  const connector = connectorOf(options.type);
  if (absent === undefined || connector?.source === undefined) return;
  const { props } = propsOf(definition, connector, connector.source, catalog, []);
  const reason = absent(props, options.datasource, (catalog.access ?? freeAccess).paths);
  if (reason !== undefined) throw propErrors.absent(name, reason);
}

/** Properties of a source or of a table that is asked, by their layers; `redacts` gets what masks their secrets. */
function propsOf(
  definition: StreamDefinition,
  connector: Connector,
  part: SourcePart | AskedPart,
  catalog: Catalog,
  redacts: Redact[],
): Pick<StreamProps, 'props' | 'secrets'> {
  const found = knownProps(definition, catalog, () => resolvedProps(definition, connector, part, catalog));
  redacts.push(found.redact);
  return found;
}

function resolvedProps(
  { name, options }: StreamDefinition,
  { connection: shared }: Connector,
  part: SourcePart | AskedPart,
  catalog: Catalog,
): StreamProps {
  const { type } = options;
  const key = options.confKey === null ? undefined : catalog.confKey(type, options.confKey);
  if (options.confKey !== null && key === undefined) {
    const meant = nearest(options.confKey, catalog.confKeyNames?.(type) ?? []);
    const hint = meant === undefined ? '' : `, did you mean ${meant}?`;
    const what = `configuration key ${options.confKey} of source ${type}`;
    throw propErrors.noKey(name, what, hint);
  }
  const extra: Layer[] = options.extra ? [{ props: options.extra, name: 'EXTRA', by: 'user' }] : [];
  const keys = keyLayers(type, options.confKey ?? defaultKey, catalog);
  const connection = connectionLayer([...keys, ...extra], type, `stream ${name}`, catalog);
  const layers = [...keys, ...connection, ...extra];
  const given = joinLayers(part.props, layers, `stream ${name}`);
  const ofFormat = decodePropsOf(options.format);
  // Secrets of the format go to its own address.
  joinLayers(ofFormat, layers, `stream ${name}`);
  const access = catalog.access ?? freeAccess;
  const { value, secrets, redact } = resolved(given, `stream ${name}`, withSpec(part.props, ofFormat), access);
  checkResolved(part, value, redact);
  const props = withFiles(value, shared?.files?.(value), access, `stream ${name}`);
  checkFiles(part.files?.(props, options.datasource), access, `stream ${name}`);
  return { props, secrets, redact };
}

/** Resolves the sinks of a rule; throws HaumeaError `unknownConnector`, `sink` or `config` with the reason. */
export function sinkSpecs(rule: RuleDefinition, catalog: Catalog, redacts: Redact[] = []): SinkSpec[] {
  return rule.actions.map(({ type, props, deadLettersOf }, i) => {
    const connector = connectorOf(type);
    if (connector?.sink === undefined || (connector.isInternal && rule.test === undefined))
      throw unknownConnector('sink', type);
    const whose = `rule ${rule.id}`;
    const access = catalog.access ?? freeAccess;
    const where = `${whose}, ${deadLettersOf === undefined ? 'sink' : 'deadLetter'} ${type}`;
    const own: Layer = { props, name: 'the action', by: 'user' };
    const connection = connectionLayer([own], type, whose, catalog);
    // Thousands of rules have no connection: they share what was given.
    const given = connection.length === 0 ? props : joinLayers(connector.sink.props, [own, ...connection], where);
    const spec = withSpec(connector.sink.props, secretEncodeProps(props));
    const { value, secrets, redact } = resolved(given, where, spec, access);
    redacts.push(redact);
    checkSink(connector.sink, value, redact);
    checkWritten(connector.sink.files?.(value), access, where);
    const cache = cacheSettings(rule, i, value, catalog);
    const encoder = encoderOf(props, where, catalog)?.number;
    const format = encoderSettingsOf(value, where, catalog);
    const messages = messagesAfterOther(props, where, catalog);
    const aesKey = aesKeyFor(connector.sink.props, value, access, where);
    const deadLetters = deadLettersFor(rule.actions, i);
    const program = programOf(connector.sink.program?.(value), where, catalog);
    return {
      type,
      ...(cache === undefined ? {} : { cache }),
      ...(encoder === undefined ? {} : { encoder }),
      ...(format === undefined ? {} : { format }),
      ...(messages === undefined ? {} : { messages }),
      ...(aesKey === undefined ? {} : { aesKey }),
      ...(deadLetters === undefined ? {} : { deadLetters }),
      ...(deadLettersOf === undefined ? {} : { getsLetters: true }),
      props: withFiles(value, connector.connection?.files?.(value), access, where),
      ...(program && { program: program.number }),
      ...(secrets.length === 0 ? {} : { secrets }),
    };
  });
}

/** The program of the plugin that a source or sink names; undefined where it names none. */
function programOf(plugin: string | undefined, where: string, { program }: Catalog): UserFunction | undefined {
  if (plugin === undefined) return undefined;
  const found = program?.(plugin);
  if (found === undefined) throw new MissingPart(`${where}: there is no wasm plugin ${plugin} with a program`);
  return found;
}

/** Programs that the sinks of a rule run. */
function sinkPrograms(rule: RuleDefinition, catalog: Catalog): (UserFunction | undefined)[] {
  return rule.actions.map(({ type, props }) =>
    programOf(connectorOf(type)?.sink?.program?.(props), `rule ${rule.id}, sink ${type}`, catalog),
  );
}

/** The key of a sink whose messages are encrypted; throws where they can't be, or can't be compressed. */
function aesKeyFor(spec: Spec, props: Props, { aesKey = '' }: Access, where: string): string | undefined {
  const seal = sealOf(spec, props);
  const { resendIndicatorField } = props;
  if (seal !== undefined && typeof resendIndicatorField === 'string' && resendIndicatorField !== '') {
    const reason = 'property resendIndicatorField is for messages without compression and encryption';
    throw new HaumeaError('sink', `${where}: ${reason}`);
  }
  if (seal?.encryption === undefined && !encryptsItself(spec, props)) return undefined;
  if (aesKey !== '') return aesKey;
  throw new HaumeaError('sink', `${where}: property encryption needs the key basic.aesKey in the configuration`);
}

/** As `specsOf`, each sink with the retry queue that it may have. */
export function connectorSpecs(rule: RuleDefinition, plan: RulePlan, catalog: Catalog): ReturnType<typeof specsOf> {
  return withRetryQueues(rule, specsOf(rule, plan, catalog), catalog);
}

/** Specs that the connectors of a rule get, and the mask of their secrets; throws as `sourceSpec` and `sinkSpecs`. */
export function specsOf(
  rule: RuleDefinition,
  { sources, lookups = [] }: RulePlan,
  catalog: Catalog,
): { sources: SourceSpec[]; lookups: LookupSpec[]; sinks: SinkSpec[]; codecs: UserFunction[]; redact: Redact } {
  const redacts: Redact[] = [];
  const definitionOf = (name: string): StreamDefinition => {
    const found = catalog.source(name);
    if (found === undefined) throw propErrors.noStream(name);
    return found;
  };
  const read = sources.map(({ stream, columns }) => {
    const readsMeta = columns.some(({ kind }) => kind === 'meta' || kind === 'metaAll');
    return resolvedSource(definitionOf(stream), catalog, redacts, readsMeta);
  });
  const resolved = read.map(({ spec }) => spec);
  const asked = lookups.map(({ table, call }) =>
    call === undefined ? lookupSpec(definitionOf(table), catalog, redacts) : callSpec(table, catalog),
  );
  const sinks = sinkSpecs(rule, catalog, redacts);
  const codecs = [
    ...read.flatMap((one) => one.codecs),
    ...sinkPrograms(rule, catalog),
    ...rule.actions.map(({ type, props }) => encoderOf(props, `rule ${rule.id}, sink ${type}`, catalog)),
  ].filter((one) => one !== undefined);
  return { sources: resolved, lookups: asked, sinks, codecs, redact: allOf(redacts) };
}

function withSpec(spec: Spec, more: Spec): Spec {
  return Object.keys(more).length === 0 ? spec : { ...spec, ...more };
}

/** Resolves references; what only stands for a secret is never sent to anybody. */
function resolved(given: Props, where: string, spec: Spec, { secrets }: Access): ResolvedProps {
  const missing = missingSecret(given, spec);
  if (missing !== undefined) throw new MissingSecret(`${where}: ${missing}`);
  return resolveProps(given, where, spec, secrets);
}

/** Checks properties; the error names none of the values behind references. */
function checkResolved(part: { check(props: Props): void }, props: Props, redact: Redact): void {
  try {
    part.check(props);
  } catch (error) {
    throw redactedError(error, redact);
  }
}

/** Checks properties as `checkResolved`, with faults as errors of the sink. */
function checkSink(part: { check(props: Props): void }, props: Props, redact: Redact): void {
  try {
    checkResolved(part, props, redact);
  } catch (error) {
    throw error instanceof HaumeaError ? asKind('sink', error) : error;
  }
}

/**
 * The catalog as a rule sees it: with the streams that its graph defines itself; streams of a test rule with rows given
 * for them have the simulator as their source.
 */
export function catalogFor(rule: RuleDefinition, catalog: Catalog): Catalog {
  const { graph, test, streams } = rule;
  const own = graph === undefined ? streams && new Map(streams.map((one) => [one.name, one])) : ownStreams(graph);
  const scripted = graph === undefined ? catalog : withScripts(graph, catalog);
  const seen = own === undefined || own.size === 0 ? scripted : withStreams(own, scripted);
  return test === undefined || Object.keys(test.mocks).length === 0 ? seen : withMocks(test.mocks, seen);
}

/** The catalog with each look of a planner at it within another. */
export function catalogWithin(within: <T>(look: () => T) => T, catalog: Catalog): Catalog {
  const { source, sourceNames, brought } = catalog;
  return {
    ...catalog,
    source: (name) => within(() => source(name)),
    ...(sourceNames && { sourceNames: () => within(sourceNames) }),
    ...(brought && {
      brought: Object.assign((name: string) => within(() => brought(name)), {
        names: () => within(() => brought.names?.() ?? []),
      }),
    }),
  };
}

/** Plans hold for the definitions that they were made for: each graph keeps its own. */
const streamsOfGraphs = new WeakMap<RuleGraph, ReadonlyMap<string, StreamDefinition>>();

function ownStreams(graph: RuleGraph): ReadonlyMap<string, StreamDefinition> {
  let known = streamsOfGraphs.get(graph);
  if (known === undefined) {
    known = streamsOf(graph);
    streamsOfGraphs.set(graph, known);
  }
  return known;
}

function withStreams(own: ReadonlyMap<string, StreamDefinition>, catalog: Catalog): Catalog {
  return { ...catalog, source: (name) => own.get(name) ?? catalog.source(name) };
}

type Mocks = NonNullable<RuleDefinition['test']>['mocks'];

/** As `streamsOfGraphs`, by the definitions that the rows stand in for. */
const mockedStreams = new WeakMap<Mocks, Map<StreamDefinition, StreamDefinition>>();

function withMocks(mocks: Mocks, catalog: Catalog): Catalog {
  const made = mockedStreams.get(mocks) ?? new Map<StreamDefinition, StreamDefinition>();
  mockedStreams.set(mocks, made);
  const type = givenRowsType();
  return {
    ...catalog,
    source: (name) => {
      const definition = catalog.source(name);
      const mock = Object.hasOwn(mocks, name) ? mocks[name] : undefined;
      if (definition === undefined || mock === undefined) return definition;
      let mocked = made.get(definition);
      if (mocked === undefined) {
        const { options } = definition;
        const changed = { type, format: defaultFormat, confKey: null, shared: false, extra: { ...mock } };
        mocked = { ...definition, options: { ...options, ...changed } };
        made.set(definition, mocked);
      }
      return mocked;
    },
    confKey: (source, key) => (source === type ? undefined : catalog.confKey(source, key)),
    confKeyLayers: (source, key) => (source === type ? [] : keyLayersOf(source, key, catalog)),
  };
}

/** The properties of a configuration key of a source and of those that hold for all its streams. */
function keyLayers(type: string, key: string, catalog: Catalog): Layer[] {
  return keyLayersOf(type, key, catalog).map(({ key: name, props, isGiven }) => ({
    props,
    name: isGiven ? 'the configuration of the server' : `configuration key ${name}`,
    by: isGiven ? 'operator' : 'user',
  }));
}

function keyLayersOf(type: string, key: string, catalog: Catalog): ReturnType<NonNullable<Catalog['confKeyLayers']>> {
  return (
    catalog.confKeyLayers?.(type, key) ?? [
      { key: defaultKey, props: catalog.confKey(type, defaultKey) ?? {}, isGiven: true },
      { key, props: catalog.confKey(type, key) ?? {}, isGiven: false },
    ]
  );
}

/** The properties of the named connection that the layers select, if they do. */
function connectionLayer(layers: readonly Layer[], type: string, whose: string, catalog: Catalog): Layer[] {
  const id = layers.map(({ props }) => props.connectionSelector).findLast((selector) => selector !== undefined);
  if (typeof id !== 'string' || id === '') return [];
  const connection = catalog.connection(id);
  if (connection === undefined) throw new MissingConnection(whose, id);
  if (connection.typ.toLowerCase() !== type.toLowerCase()) {
    throw propErrors.connectionType(whose, id, connection.typ, type);
  }
  return [{ props: connection.props, name: `connection ${id}`, by: 'connection' }];
}

/** @param isFormatted a text that expressions read by TIMESTAMP_FORMAT: it is decoded as it stands */
function columnOf(field: FieldDef, isFormatted: boolean): { name: string; type: ColumnType; default?: ConstValue } {
  const value = field.default === null ? undefined : constantOf(field.default);
  return {
    name: field.name,
    type: isFormatted ? { type: 'any' } : typeOf(field.fieldType),
    ...(value === undefined ? {} : { default: value }),
  };
}

function typeOf(fieldType: FieldType): ColumnType {
  switch (fieldType.type) {
    case 'array':
      return { type: 'array', element: typeOf(fieldType.element) };
    case 'struct':
      return {
        type: 'struct',
        fields: fieldType.fields.map((field) => ({ name: field.name, type: typeOf(field.fieldType) })),
      };
    default:
      return { type: fieldType.type };
  }
}

function constantOf(literal: Expr): ConstValue | undefined {
  switch (literal.kind) {
    case 'boolean':
      return { tag: 'bool', value: literal.value };
    case 'integer':
      return { tag: 'i64', value: literal.value };
    case 'number':
      return { tag: 'f64', value: literal.value };
    case 'string':
      return { tag: 'str', value: literal.value };
    default:
      return undefined;
  }
}
