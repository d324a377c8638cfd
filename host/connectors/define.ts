/**
 * The form of a connector: its manifest says everything that the engine, the catalogue and the documentation need to
 * know of it. Manifests are loaded at start, so they are small; what does the work is loaded when the first rule needs
 * it.
 */
import type { Framing, StreamSpec } from '../../kernels/api.js';
import type { OutputPlan, WaitingPlan } from '../../kernels/plan/ir.js';
import { type Parsed, parse, type Spec } from '../base/fields/field.js';
import type { FieldTexts, FormTexts } from '../base/fields/form-texts.js';
import { type commonLookup, waitingOf } from './common.js';
import { connectorErrors } from './errors.js';
import { loadPart } from './load-part.js';
import type { Lookup, LookupContext, Sink, SinkContext, Source, SourceContext } from './running.js';

type Props = Record<string, unknown>;

/** The wire form in which a source gives its input. */
export interface SourceForm {
  framing: Framing;
  mqttVersion?: 4 | 5;
  /** Memory topics carry the engine's own rows, whatever the format of the stream. */
  format?: Extract<StreamSpec['format'], 'rows'>;
  /** The input is there already and is read to its end without a pause. */
  endsSoon?: boolean;
  /** It is read when there is room: nothing is lost, and nobody waits, while it stands still. */
  waits?: true;
  /** Who sends the messages may wait for their acknowledgements. */
  acknowledges?: true;
  /**
   * Who sends them keeps a session: what is not acknowledged is sent again, with the same packet id. Names both sides.
   */
  session?: string;
}

/**
 * How a source brings rows again that came after a checkpoint: it reads them again from a position, the other side
 * sends again what was not acknowledged, `provided` that it does its part, or the rules that write to it make them
 * again; otherwise why it can't.
 */
export type Return = 'position' | { readonly provided: string } | 'writers' | { readonly no: string };

/** Joins rules within the engine: what sinks write to topics sources read whose DATASOURCE they fall under. */
export interface Topics {
  /** Property of sinks with the topic. */
  readonly property: string;
  areRead(dataSource: string, topic: string): boolean;
}

/** What a sink takes: messages in the format of the action, the engine's own rows, or nothing but their number. */
export interface SinkForm {
  takes: 'messages' | 'rows' | 'nothing';
  /** How messages are told apart. */
  framing: OutputPlan['framing'];
  /** Each message begins with its header, which the sink puts where it belongs. */
  hasHeaders?: true;
  /** A message is one row, whatever `sendSingle` says. */
  isRowByRow?: true;
}

/**
 * Files and folders by the property that names them: those that are read, and those that are written to, deleted or
 * moved.
 */
export type NamedFiles = Readonly<Record<string, string | { readonly written: string }>>;

/** What the DATASOURCE of a stream or table is. */
export interface DataSource {
  readonly doc: string;
  /** Nothing comes without one. */
  readonly isNeeded?: boolean;
}

export interface ConnectorDeclaration<
  C extends Spec,
  S extends Spec,
  K extends Spec,
  L extends LookupProps = LookupProps,
> {
  /** TYPE of streams, name of actions; that of the folder. */
  name: string;
  doc: string;
  /** Only the engine itself makes use of it: not for users, in no catalogue. */
  isInternal?: boolean;
  /** Loads the texts of its forms in Chinese; what is missing is shown in English. */
  chinese?(): Promise<ConnectorTexts>;
  /** Packages that its parts import and that may be missing: a rule that needs one is told which. */
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

export interface ConnectionDeclaration<C extends Spec> {
  /** Properties of a connection, the same for all parts. */
  props: C;
  /** Files that these properties name, by property: allowed paths only, absolute when the connector gets them. */
  files?(conf: Parsed<C>): NamedFiles;
  /** Loads what connects once and leaves again, or throws the reason; left out when the other side comes to us. */
  ping?(): Promise<(conf: Parsed<C>) => Promise<void>>;
  /** Parts of which those with the same `connectionKey` have one connection together. */
  sharing?: 'sinks';
}

export interface SourceDeclaration<C extends Spec, S extends Spec> {
  /** Left out when the DATASOURCE is of no use. */
  dataSource?: DataSource;
  /** Properties of a stream besides those of the connection. */
  props: S;
  /** Why properties can't be together that each are right. */
  refusal?(conf: Parsed<C> & Parsed<S>): string | undefined;
  /** Files and folders that the properties and the DATASOURCE name, by property: what is not allowed is refused. */
  files?(conf: Parsed<C> & Parsed<S>, dataSource: string): NamedFiles;
  form(conf: Parsed<C> & Parsed<S>): SourceForm;
  /** Left out of sources that can't go back. */
  rewinds?(conf: Parsed<C> & Parsed<S>): Return;
  /** It brings bytes from elsewhere: topologies show the step that decodes them. */
  showsDecoder?: boolean;
  /** What statements without TYPE mean. */
  isTypeOf?: 'stream' | 'table';
  /** How many rows a scan table without RETAIN_SIZE keeps, when that is not the last one. */
  retainedRows?: number;
  /** Stands in for the streams of a test rule: it takes `data`, `interval` and `loop`. */
  sendsGivenRows?: boolean;
  /** Properties of the configuration key `default` before a file says others, in the form that clients are shown. */
  defaultKey?: Readonly<Props>;
  /** Name of its file of configuration keys, and of their variables, when they are not named like the connector. */
  keysName?: string;
  /** Loads what makes the source. */
  load(): Promise<(conf: Parsed<C> & Parsed<S>, context: SourceContext) => Source>;
}

/** How lookup tables of the connector get their rows: they are kept, or the connector is asked for them. */
export interface LookupDeclaration<C extends Spec = Spec, L extends LookupProps = LookupProps> {
  /** The rows come by the connector's source, from the creation of the table on, and the newest of each key is kept. */
  isKept?: boolean;
  /** As of a source. */
  dataSource?: DataSource;
  /** As of a source. */
  defaultKey?: Readonly<Props>;
  /** Why a lookup table can't have this DATASOURCE and KEY. */
  refusal?(dataSource: string, key: string | null): string | undefined;
  /** Properties of a table that is asked, those of `commonLookup` among them. */
  props?: L;
  /** As of a source. */
  files?(conf: Parsed<C> & Parsed<L>, dataSource: string): NamedFiles;
  /** Loads what is asked. */
  load?(): Promise<(conf: Parsed<C> & Parsed<L>, context: LookupContext) => Lookup>;
}

type LookupProps = Spec & Pick<typeof commonLookup, 'lookup'>;

export interface SinkDeclaration<C extends Spec, K extends Spec> {
  /**
   * Properties of an action besides those of the connection; those that may be templates over the row are `dynamic`.
   */
  props: K;
  /** Why properties can't be together that each are right. */
  refusal?(conf: Parsed<C> & Parsed<K>): string | undefined;
  /** Files that the properties name, by property: what is not allowed is refused. */
  files?(conf: Parsed<C> & Parsed<K>): NamedFiles;
  /** Properties with files to which two rules had better not write both. */
  ownFiles?: readonly string[];
  /** Text property that `resendDestination` takes the place of, of chunks that have it among their values. */
  resendsTo?: string;
  /** Properties whose templates the sink fills in itself; `props` are unchecked. */
  ownTemplates?(props: Readonly<Props>): readonly string[];
  /**
   * Why what was sent after a checkpoint can't be taken back; undefined when it can. Left out of sinks that never can.
   */
  staysSent?(conf: Parsed<C> & Parsed<K>): string | undefined;
  /** What came between two checkpoints is a transaction there: see `Sink.commit`. */
  hasTransactions?: boolean;
  /** What has the number of a message, for receivers that leave out what they have; undefined when nothing does. */
  numbersIn?(conf: Parsed<C> & Parsed<K>): string | undefined;
  /** The same for all actions, or by the properties of an action, which are unchecked. */
  form: SinkForm | ((props: Readonly<Props>) => SinkForm);
  /** Loads what makes the sink. */
  load(): Promise<(conf: Parsed<C> & Parsed<K>, context: SinkContext) => Sink>;
}

/** A connector as the engine uses it: properties come unchecked. */
export interface Connector {
  readonly name: string;
  readonly doc: string;
  readonly isInternal: boolean;
  readonly topics?: Topics;
  chinese?(): Promise<ConnectorTexts>;
  readonly connection?: ConnectionPart;
  readonly source?: SourcePart;
  readonly lookup?: LookupPart;
  readonly sink?: SinkPart;
}

export interface LookupPart extends Pick<LookupDeclaration, 'isKept' | 'dataSource' | 'defaultKey' | 'refusal'> {
  /** Left out where rows are kept. */
  readonly asked?: AskedPart;
}

export interface AskedPart extends Part {
  files?(props: Props, dataSource: string): NamedFiles;
  /** How rows wait for answers. */
  waiting(props: Props): WaitingPlan;
  /** To be called when it is loaded. */
  create(props: Props, context: LookupContext): Lookup;
}

export interface ConnectionPart {
  readonly props: Spec;
  readonly sharing?: 'sinks';
  files?(props: Props): NamedFiles;
  /** Connects once and leaves again; throws the reason when that fails. */
  ping?(props: Props): Promise<void>;
}

interface Part {
  /** Properties, those of the connection included. */
  readonly props: Spec;
  /** Checks properties; throws HaumeaError `config` that names the property. */
  check(props: Props): void;
  /** Loads what does the work, once; throws HaumeaError `config` that names a missing package. */
  load(): Promise<void>;
}

export interface SourcePart
  extends Part,
    Pick<
      SourceDeclaration<Spec, Spec>,
      'dataSource' | 'showsDecoder' | 'isTypeOf' | 'retainedRows' | 'sendsGivenRows' | 'defaultKey' | 'keysName'
    > {
  files?(props: Props, dataSource: string): NamedFiles;
  form(props: Props): SourceForm;
  rewinds(props: Props): Return;
  /** To be called when it is loaded. */
  create(props: Props, context: SourceContext): Source;
}

export interface SinkPart
  extends Part,
    Pick<SinkDeclaration<Spec, Spec>, 'ownFiles' | 'resendsTo' | 'ownTemplates' | 'hasTransactions'> {
  files?(props: Props): NamedFiles;
  form(props: Readonly<Props>): SinkForm;
  /** Undefined when what was sent after a checkpoint can be taken back. */
  staysSent(props: Props): string | undefined;
  /** What has the number of a message; undefined when nothing does. */
  numbersIn(props: Props): string | undefined;
  /** To be called when it is loaded. */
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
  const { props: spec, files, ping, sharing } = declared;
  const conf = (props: Props) => parse(spec, props, { where: `${name} connection` });
  return {
    props: spec,
    sharing,
    files: files && ((props) => files(conf(props))),
    ping: ping && (async (props) => (await ping())(conf(props))),
  };
}

type Named<C extends Spec> = Pick<ConnectorDeclaration<C, Spec, Spec>, 'name' | 'connection' | 'packages'>;

function sourcePart<C extends Spec, S extends Spec>(
  { name, connection, packages }: Named<C>,
  declared: SourceDeclaration<C, S>,
): SourcePart {
  const { props, refusal, files, form, rewinds, load, ...known } = declared;
  const what = `${name} source`;
  const spec: Spec = { ...connection?.props, ...props };
  const conf = (given: Props) => parse(spec, given, { where: what }) as Parsed<C> & Parsed<S>;
  const loaded = loadPart(what, packages, load);
  return {
    ...known,
    props: spec,
    check: (given) => checked(what, conf(given), refusal),
    files: files && ((given, dataSource) => files(conf(given), dataSource)),
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
    files: files && ((given) => files(conf(given))),
    form: typeof form === 'function' ? form : () => form,
    staysSent: (given) =>
      staysSent === undefined ? `a ${name} sink can't take back what it sent` : staysSent(conf(given)),
    numbersIn: (given) => numbersIn?.(conf(given)),
    load: loaded.load,
    create: (given, context) => loaded.make()(conf(given), context),
  };
}

/** Throws why properties that each are right can't be together. */
function checked<T>(what: string, conf: T, refusal: ((conf: T) => string | undefined) | undefined): void {
  const reason = refusal?.(conf);
  if (reason !== undefined) throw connectorErrors.props(what, reason);
}
