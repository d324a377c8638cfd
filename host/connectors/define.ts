/**
 * The form of a connector: its manifest says everything that the engine, the catalogue and the documentation need to
 * know of it. Manifests are loaded at start, so they are small; sources and sinks are loaded when the first rule needs
 * them.
 */
import type { Framing, StreamSpec } from '../../kernels/api.js';
import type { OutputPlan, WaitingPlan } from '../../kernels/plan/ir.js';
import { givenOf, type Parsed, parse, type Spec } from '../base/fields/field.js';
import type { FieldTexts, FormTexts } from '../base/fields/form-texts.js';
import type { AllowedPaths } from '../base/files/allowed-paths.js';
import type { PortableCode } from '../plugins/portable/code.js';
import { type commonLookup, waitingOf } from './common.js';
import { isRenewal } from './connection-key.js';
import { connectorErrors } from './errors.js';
import { loadPart } from './load-part.js';
import type { Lookup, LookupContext, Sink, SinkContext, Source, SourceContext } from './running.js';

type Props = Record<string, unknown>;

/** The wire form in which a source gives its input. */
export interface SourceForm {
  framing: Framing;
  mqttVersion?: 4 | 5;
  /**
   * The input has this form, whatever the format of the stream: the engine's own rows, or fields that the source has
   * cut.
   */
  format?: Extract<StreamSpec['format'], 'rows' | 'fields'>;
  /** The whole input exists already, and is read to its end without a pause. */
  endsSoon?: boolean;
  /** The source only reads when there is room: while it stands still nothing is lost, and no sender waits. */
  waits?: true;
  /** The sender may wait for acknowledgements of its messages. */
  acknowledges?: true;
  /** Whole numbers of undeclared columns are 64-bit integers, unless `useInt64ForWholeNumber` says otherwise. */
  wholeNumbersAreInts?: true;
  /**
   * Name of client and broker when the broker keeps a session: it sends messages without acknowledgement again, with
   * the same packet id.
   */
  session?: string;
}

/**
 * How a source brings rows again that came after a checkpoint: it reads them again from a position, the other side
 * sends again what was not acknowledged, `provided` that it does its part, or the rules that write to it make them
 * again; otherwise why it can't. With `mayRepeat` what comes again may be in the checkpoint.
 */
export type Return =
  | 'position'
  | { readonly provided: string; readonly mayRepeat?: true }
  | 'writers'
  | { readonly no: string };

/** Topics that join rules within the engine: a source reads all topics that its DATASOURCE covers. */
export interface Topics {
  /** Property of sinks with the topic. */
  readonly property: string;
  areRead(dataSource: string, topic: string): boolean;
}

/** The form of a sink's input: messages in the format of the action, the engine's own rows, or only their number. */
export interface SinkForm {
  takes: 'messages' | 'rows' | 'nothing';
  /** Framing of the messages, by which the sink tells them apart. */
  framing: OutputPlan['framing'];
  /** Each message begins with its header, which the sink puts where it belongs. */
  hasHeaders?: true;
  /** A message is one row, whatever `sendSingle` says. */
  isRowByRow?: true;
  /** The sink itself picks the members that `fields` names, since it needs others as well. */
  picksFields?: true;
}

/**
 * Files and folders by the property that names them: those that are read, and those that are written to, deleted or
 * moved. Those with `isNoFile` may be there as something else, a folder or socket.
 */
export type NamedFiles = Readonly<Record<string, string | { readonly written: string; readonly isNoFile?: true }>>;

/** Meaning of the DATASOURCE of a stream or table. */
export interface DataSource {
  readonly doc: string;
  /** Without a DATASOURCE the source brings nothing. */
  readonly isNeeded?: boolean;
}

export interface ConnectorDeclaration<
  C extends Spec,
  S extends Spec,
  K extends Spec,
  L extends LookupProps = LookupProps,
> {
  /** TYPE of streams and name of actions; equals the name of the connector's folder. */
  name: string;
  doc: string;
  /** Only the engine itself uses the connector: it is not for users, and in no catalogue. */
  isInternal?: boolean;
  /** Loads the Chinese texts of the connector's forms; missing texts are shown in English. */
  chinese?(): Promise<ConnectorTexts>;
  /** Packages that the connector imports and that may be missing: a rule that needs one is told which. */
  packages?: readonly string[];
  topics?: Topics;
  /** Left out when there is no other side: such a connector is no type of named connections. */
  connection?: ConnectionDeclaration<C>;
  source?: SourceDeclaration<C, S>;
  lookup?: LookupDeclaration<C, L>;
  sink?: SinkDeclaration<C, K>;
}

export interface ConnectorTexts extends Omit<FormTexts, 'props'> {
  readonly dataSource?: string;
  readonly connection?: FieldTexts;
  readonly source?: FieldTexts;
  readonly lookup?: FieldTexts;
  readonly sink?: FieldTexts;
}

export type PartKind = 'source' | 'lookup' | 'sink';

export interface ConnectionDeclaration<C extends Spec> {
  /** Properties of a connection, the same for all parts. */
  props: C;
  /** Files that these properties name, by property: allowed paths only, absolute when the connector gets them. */
  files?(conf: Parsed<C>): NamedFiles;
  /** Loads a function that connects once, or throws the reason; left out when the other side connects to us. */
  ping?(): Promise<(conf: Parsed<C>) => Promise<void>>;
  /** Parts that share one connection when their `connectionKey` is equal. */
  sharing?: 'sinks';
  /**
   * What a process can have once, such as an address that it listens at or the name of a client; undefined when any
   * number of them may be there. Parts with an equal text are in one data plane.
   */
  single?(conf: Parsed<C>, part: PartKind): string | undefined;
  /**
   * Properties that may change while rules use the connection, such as passwords: all its sources and sinks take them
   * by `renew`; lookup tables are made anew. Of an address only the login may change.
   */
  renewable?: readonly (keyof C & string)[];
}

export interface SourceDeclaration<C extends Spec, S extends Spec> {
  /** Left out when the DATASOURCE is of no use. */
  dataSource?: DataSource;
  /** Properties of a stream besides those of the connection. */
  props: S;
  /** Reason why properties that are each valid can't be combined; undefined when they can. */
  refusal?(conf: Parsed<C> & Parsed<S>): string | undefined;
  /**
   * Files and folders that the properties and the DATASOURCE name, by property; paths that are not allowed are refused.
   */
  files?(conf: Parsed<C> & Parsed<S>, dataSource: string): NamedFiles;
  /**
   * Reason why there is nothing to read, now or by its DATASOURCE: rules are refused then when they are made or
   * changed, though not those that are there when a server starts.
   */
  absent?(conf: Parsed<C> & Parsed<S>, dataSource: string, paths: AllowedPaths): string | undefined;
  /** Name of the plugin whose program the source runs. */
  program?(conf: Parsed<C> & Parsed<S>, dataSource: string): string;
  /**
   * How the parts of a rule may read the stream (partitions.ts): a range in its DATASOURCE names the partitions, or the
   * server has counted them, and each part reads a share.
   */
  partitions?: 'named' | 'counted';
  form(conf: Parsed<C> & Parsed<S>): SourceForm;
  /** How the source brings rows again after a checkpoint; left out when it never can. */
  rewinds?(conf: Parsed<C> & Parsed<S>): Return;
  /** The source brings bytes from outside the engine, so topologies show the step that decodes them. */
  showsDecoder?: boolean;
  /** Statements of this kind without TYPE get this connector. */
  isTypeOf?: 'stream' | 'table';
  /** Number of rows that a scan table without RETAIN_SIZE keeps; 1 when left out. */
  retainedRows?: number;
  /** The connector replaces the streams of a test rule: it takes `data`, `interval` and `loop`. */
  sendsGivenRows?: boolean;
  /** Properties of the configuration key `default` until a file sets others, in the form that clients are shown. */
  defaultKey?: Readonly<Props>;
  /** Name of the file of configuration keys and of their variables, when it is not the connector's name. */
  keysName?: string;
  /** Property that is true where rules read metadata, or may: left out when messages bring them at no cost. */
  metaProp?: string;
  /** Loads the function that makes the source. */
  load(): Promise<(conf: Parsed<C> & Parsed<S>, context: SourceContext) => Source>;
}

/** How lookup tables of the connector get rows: the engine keeps the rows, or asks the connector for them. */
export interface LookupDeclaration<C extends Spec = Spec, L extends LookupProps = LookupProps> {
  /**
   * The connector's source brings the rows from the creation of the table on, and the newest row of each key is kept.
   */
  isKept?: boolean;
  /** Has the same meaning as for a source. */
  dataSource?: DataSource;
  /** Has the same meaning as for a source. */
  defaultKey?: Readonly<Props>;
  /** Reason why a lookup table can't have this DATASOURCE and KEY; undefined when it can. */
  refusal?(dataSource: string, key: string | null): string | undefined;
  /** Properties of a table that is asked, those of `commonLookup` among them. */
  props?: L;
  /** Has the same meaning as for a source. */
  files?(conf: Parsed<C> & Parsed<L>, dataSource: string): NamedFiles;
  /** Loads the function that makes the lookup table. */
  load?(): Promise<(conf: Parsed<C> & Parsed<L>, context: LookupContext) => Lookup>;
}

type LookupProps = Spec & Pick<typeof commonLookup, 'lookup'>;

export interface SinkDeclaration<C extends Spec, K extends Spec> {
  /**
   * Properties of an action besides those of the connection; those that may be templates over the row are `dynamic`.
   */
  props: K;
  /** Reason why properties that are each valid can't be combined; undefined when they can. */
  refusal?(conf: Parsed<C> & Parsed<K>): string | undefined;
  /** Files that the properties name, by property; paths that are not allowed are refused. */
  files?(conf: Parsed<C> & Parsed<K>): NamedFiles;
  /** Name of the plugin whose program the sink runs. */
  program?(conf: Parsed<C> & Parsed<K>): string;
  /** Properties that name files which two rules should not both write to. */
  ownFiles?: readonly string[];
  /** Text property that `resendDestination` replaces, in chunks that have it among their values. */
  resendsTo?: string;
  /** Properties whose templates the sink fills in itself; `props` are unchecked. */
  ownTemplates?(props: Readonly<Props>): readonly string[];
  /**
   * Reason why output after a checkpoint can't be cut back; undefined when it can. Left out of sinks that never can.
   */
  staysSent?(conf: Parsed<C> & Parsed<K>): string | undefined;
  /** The output between two checkpoints is one transaction of the other side: see `Sink.commit`. */
  hasTransactions?: boolean;
  /**
   * Where a message carries its number, by which receivers recognize repetitions; undefined when messages carry none.
   */
  numbersIn?(conf: Parsed<C> & Parsed<K>): string | undefined;
  /** Form of the input: one for all actions, or by the unchecked properties of an action. */
  form: SinkForm | ((props: Readonly<Props>) => SinkForm);
  /** Loads the function that makes the sink. */
  load(): Promise<(conf: Parsed<C> & Parsed<K>, context: SinkContext) => Sink>;
}

/** A connector as the engine uses it: properties come unchecked. */
export interface Connector {
  readonly name: string;
  readonly doc: string;
  readonly isInternal: boolean;
  /** The portable plugin that has the source or sink. */
  readonly plugin?: PortableCode;
  readonly topics?: Topics;
  chinese?(): Promise<ConnectorTexts>;
  readonly connection?: ConnectionPart;
  readonly source?: SourcePart;
  readonly lookup?: LookupPart;
  readonly sink?: SinkPart;
}

export interface LookupPart extends Pick<LookupDeclaration, 'isKept' | 'dataSource' | 'defaultKey' | 'refusal'> {
  /** Left out where the engine keeps the rows. */
  readonly asked?: AskedPart;
}

export interface AskedPart extends Part {
  files?(props: Props, dataSource: string): NamedFiles;
  /** How rows wait for answers. */
  waiting(props: Props): WaitingPlan;
  /** Makes the running part; `load` has to be done before. */
  create(props: Props, context: LookupContext): Lookup;
}

export interface ConnectionPart {
  readonly props: Spec;
  readonly sharing?: 'sinks';
  /** See `ConnectionDeclaration.single`. */
  single?(props: Props, part: PartKind): string | undefined;
  /** Whether nothing but renewable properties differs. */
  isRenewal(former: Props, props: Props): boolean;
  files?(props: Props): NamedFiles;
  /** Connects once and disconnects; throws the reason when that fails. */
  ping?(props: Props): Promise<void>;
}

interface Part {
  /** Properties, those of the connection included. */
  readonly props: Spec;
  /** Checks properties; throws HaumeaError `config` that names the property. */
  check(props: Props): void;
  /** The properties for `renew`; undefined when more differs from the former ones than may. */
  renewed(former: Props, props: Props): object | undefined;
  /** Loads the running part once; throws HaumeaError `config` that names a missing package. */
  load(): Promise<void>;
}

export interface SourcePart
  extends Part,
    Pick<
      SourceDeclaration<Spec, Spec>,
      | 'dataSource'
      | 'showsDecoder'
      | 'isTypeOf'
      | 'retainedRows'
      | 'sendsGivenRows'
      | 'defaultKey'
      | 'keysName'
      | 'metaProp'
      | 'partitions'
    > {
  files?(props: Props, dataSource: string): NamedFiles;
  absent?(props: Props, dataSource: string, paths: AllowedPaths): string | undefined;
  program?(props: Props, dataSource: string): string;
  form(props: Props): SourceForm;
  rewinds(props: Props): Return;
  /** Makes the running part; `load` has to be done before. */
  create(props: Props, context: SourceContext): Source;
}

export interface SinkPart
  extends Part,
    Pick<SinkDeclaration<Spec, Spec>, 'ownFiles' | 'resendsTo' | 'ownTemplates' | 'hasTransactions'> {
  files?(props: Props): NamedFiles;
  program?(props: Props): string;
  form(props: Readonly<Props>): SinkForm;
  /** Reason why output after a checkpoint can't be cut back; undefined when it can. */
  staysSent(props: Props): string | undefined;
  /** Where a message carries its number; undefined when messages carry none. */
  numbersIn(props: Props): string | undefined;
  /** Makes the running part; `load` has to be done before. */
  create(props: Props, context: SinkContext): Sink;
}

/** Declares a connector. */
export function defineConnector<C extends Spec, S extends Spec, K extends Spec, L extends LookupProps>(
  declared: ConnectorDeclaration<C, S, K, L>,
): Connector {
  const { name, doc, isInternal = false, chinese, topics, connection, source, lookup, sink } = declared;
  return {
    name,
    doc,
    isInternal,
    ...(chinese && { chinese }),
    ...(topics && { topics }),
    ...(connection && { connection: connectionPart(name, connection) }),
    ...(source && { source: sourcePart(declared, source) }),
    ...(lookup && { lookup: lookupPart(declared, lookup) }),
    ...(sink && { sink: sinkPart(declared, sink) }),
  };
}

function connectionPart<C extends Spec>(name: string, declared: ConnectionDeclaration<C>): ConnectionPart {
  const { props: spec, files, ping, sharing, single, renewable = [] } = declared;
  const conf = (props: Props) => parse(spec, props, { where: `${name} connection` });
  return {
    props: spec,
    sharing,
    single: single && ((props, part) => single(conf(props), part)),
    isRenewal: (former, props) => isRenewal(spec, renewable, conf(former), conf(props)),
    files: files && ((props) => files(conf(props))),
    ping: ping && (async (props) => (await ping())(conf(props))),
  };
}

type Named<C extends Spec> = Pick<ConnectorDeclaration<C, Spec, Spec>, 'name' | 'connection' | 'packages'>;

function sourcePart<C extends Spec, S extends Spec>(
  { name, connection, packages }: Named<C>,
  declared: SourceDeclaration<C, S>,
): SourcePart {
  const { props, refusal, files, absent, program, form, rewinds, load, ...known } = declared;
  const what = `${name} source`;
  const spec: Spec = { ...connection?.props, ...props };
  const conf = (given: Props) => parse(spec, given, { where: what }) as Parsed<C> & Parsed<S>;
  // Each new rule on a stream asks whether there is something to read.
  const asked = new WeakMap<Props, Parsed<C> & Parsed<S>>();
  const knownConf = (given: Props) => {
    const read = asked.get(given) ?? conf(given);
    asked.set(given, read);
    return read;
  };
  const loaded = loadPart(what, packages, load);
  return {
    ...known,
    props: spec,
    check: (given) => checked(what, conf(given), refusal),
    renewed: renewer(spec, connection, conf),
    files: files && ((given, dataSource) => files(conf(given), dataSource)),
    ...(absent && { absent: (given, dataSource, paths) => absent(knownConf(given), dataSource, paths) }),
    ...(program && { program: (given, dataSource) => program(conf(given), dataSource) }),
    form: (given) => form(conf(given)),
    rewinds: (given) => rewinds?.(conf(given)) ?? { no: `a ${name} source can't go back` },
    load: loaded.load,
    create: (given, context) => loaded.make()(conf(given), context),
  };
}

function lookupPart<C extends Spec, L extends LookupProps>(
  { name, connection, packages }: Named<C>,
  { props, files, load, ...known }: LookupDeclaration<C, L>,
): LookupPart {
  if (props === undefined || load === undefined) return known;
  const what = `${name} lookup`;
  const spec: Spec = { ...connection?.props, ...props };
  const conf = (given: Props) => parse(spec, given, { where: what }) as Parsed<C> & Parsed<L>;
  const loaded = loadPart(what, packages, load);
  return {
    ...known,
    asked: {
      props: spec,
      check: (given) => void conf(given),
      renewed: renewer(spec, connection, conf),
      files: files && ((given, dataSource) => files(conf(given), dataSource)),
      waiting: (given) => waitingOf(conf(given) as Parsed<Pick<typeof commonLookup, 'lookup'>>),
      load: loaded.load,
      create: (given, context) => loaded.make()(conf(given), context),
    },
  };
}

function sinkPart<C extends Spec, K extends Spec>(
  { name, connection, packages }: Named<C>,
  {
    props,
    refusal,
    files,
    program,
    form,
    staysSent,
    hasTransactions,
    numbersIn,
    load,
    ownFiles,
    resendsTo,
    ownTemplates,
  }: SinkDeclaration<C, K>,
): SinkPart {
  const what = `${name} sink`;
  const spec: Spec = { ...connection?.props, ...props };
  const conf = (given: Props) => parse(spec, given, { where: what }) as Parsed<C> & Parsed<K>;
  const loaded = loadPart(what, packages, load);
  return {
    props: spec,
    ownFiles,
    resendsTo,
    ownTemplates,
    hasTransactions,
    check: (given) => checked(what, conf(given), refusal),
    renewed: renewer(spec, connection, conf),
    files: files && ((given) => files(conf(given))),
    ...(program && { program: (given) => program(conf(given)) }),
    form: typeof form === 'function' ? (given) => form(Object.fromEntries(givenOf(spec, given))) : () => form,
    staysSent: (given) =>
      staysSent === undefined ? `a ${name} sink can't take back what it sent` : staysSent(conf(given)),
    numbersIn: (given) => numbersIn?.(conf(given)),
    load: loaded.load,
    create: (given, context) => loaded.make()(conf(given), context),
  };
}

/** See `Part.renewed`. */
function renewer<C extends Spec>(
  spec: Spec,
  connection: ConnectionDeclaration<C> | undefined,
  confOf: (props: Props) => object,
): Part['renewed'] {
  const { renewable = [] } = connection ?? {};
  return (former, props) => {
    if (renewable.length === 0) return undefined;
    const conf = confOf(props);
    return isRenewal(spec, renewable, { ...confOf(former) }, { ...conf }) ? conf : undefined;
  };
}

/** Throws why properties that each are right can't be together. */
function checked<T>(what: string, conf: T, refusal: ((conf: T) => string | undefined) | undefined): void {
  const reason = refusal?.(conf);
  if (reason !== undefined) throw connectorErrors.props(what, reason);
}
