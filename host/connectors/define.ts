/**
 * The form of a connector: what it declares, what the engine gives it, what it gives back. A connector moves bytes. It
 * never sees rows, and never retries: `open` fails or `disconnected` is called, and the engine decides when to try again.
 */

import type { Framing, OutputChunk } from '../../kernels/api.js';
import type { AllowedPaths } from '../base/allowed-paths.js';
import { type Parsed, parse, type Spec } from '../base/field.js';
import type { Logger } from '../base/log.js';

export type { Framing, OutputChunk };

/** What a source needs from the engine. */
export interface SourceContext {
  /** Name of the stream. */
  readonly name: string;
  /** DATASOURCE of the stream. */
  readonly dataSource: string;
  readonly log: Logger;
  /** Longest pause between two reads of a fast sender with small packets, ms; 0 never pauses. */
  readonly coalesceMs: number;
  /** True while the sinks take no more, or the kernel has no room for what was written; a source should stop to write then. */
  readonly isFull: boolean;
  /** Takes input in the declared framing, whole or cut anywhere; copies it. Returns false when the source should pause. */
  write(bytes: Uint8Array): boolean;
  /** Resolves as soon as input is wanted. */
  ready(): Promise<void>;
  /** Resolves as soon as the kernel has taken all that was written; false when it never will, since the source ends. */
  whenTaken(): Promise<boolean>;
  /** Says what to call when the sinks take no more and when they do again. */
  onFlow(pause: () => void, resume: () => void): void;
  /** With framing mqtt: takes control packets; a view valid during the call. Must not write. */
  onPacket(take: (packet: Uint8Array) => void): void;
  /** With framing mqtt: packet ids of QoS 1 messages whose results the sinks have accepted, in order of arrival. */
  onAcknowledge(take: (packetIds: Uint16Array) => void): void;
  /** Says what to call when the input breaks its protocol; the rest of it was dropped. */
  onMalformed(take: (reason: string) => void): void;
  /** Forgets a half-received message. */
  resetInput(): void;
  /** The connection was lost; the engine calls `open` again after a while. */
  disconnected(reason: string): void;
  /** Counts a failure that does not end the connection. */
  exception(reason: string): void;
  /** All input was written. */
  end(): void;
  /** Opens the files that properties name, where that is allowed. */
  readonly paths: AllowedPaths;
  /** An object that all connectors of this worker share, made at first use. */
  shared<T>(key: string, make: () => T): T;
}

export interface Source {
  /** The other side: while a connection is down it is tried as soon as another one with the same text is up. */
  readonly peer?: string;
  /**
   * Connects; called again after `disconnected` or a failed attempt. Throws HaumeaError `config` for what no repetition
   * can cure: the rule stops.
   */
  open(): Promise<void>;
  close(): Promise<void>;
}

/** What a sink needs from the engine. */
export interface SinkContext {
  readonly ruleId: string;
  readonly log: Logger;
  /** Gives credit back: so many bytes and messages are with the outside. */
  accepted(bytes: number, messages: number): void;
  /** So many messages were lost for good; gives the credit back too. */
  failed(bytes: number, messages: number, reason: string): void;
  /**
   * The connection was lost; the engine calls `open` again after a while. What was written meanwhile is kept. A rule whose
   * sink loses its connection again and again without getting anything out ends, unless the sink `isPatient`.
   */
  disconnected(reason: string, isPatient?: boolean): void;
  /** Opens the files that properties name, where that is allowed. */
  readonly paths: AllowedPaths;
  shared<T>(key: string, make: () => T): T;
}

/** What a sink gets. */
export interface SinkChunk extends OutputChunk {
  /** Where a template made the messages: places among `ends` of those that are the text of an error instead. */
  readonly errors?: ReadonlySet<number>;
}

export interface Sink {
  /** The other side: while a connection is down it is tried as soon as another one with the same text is up. */
  readonly peer?: string;
  /** Connects; called again after `disconnected` or a failed attempt. Throws as `Source.open` does. */
  open(): Promise<void>;
  /** Takes output: copies what it keeps. Called while the kernel runs: must not throw and must not wait. */
  write(chunk: SinkChunk): void;
  /** Resolves when everything written so far is with the outside; rejects when that can't be. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** The wire form in which a source gives its input. */
export interface SourceForm {
  framing: Framing;
  mqttVersion?: 4 | 5;
  /** Overrides the format of the stream: memory topics carry the engine's own rows. */
  format?: 'json' | 'rows';
  /** The input is there already and is read to its end without a pause. */
  endsSoon?: boolean;
}

/** Files and folders by the property that names them: those that are read, and those that are written to, deleted or moved. */
export type NamedFiles = Readonly<Record<string, string | { readonly written: string }>>;

export interface ConnectorDeclaration<C extends Spec, S extends Spec, K extends Spec> {
  name: string;
  doc: string;
  /** Properties of a connection, the same for source and sink. */
  connection: C;
  /** Files that these properties name, by property: allowed paths only, absolute when the connector gets them. */
  files?(conf: Parsed<C>): NamedFiles;
  /** Connects once and leaves again; throws the reason when the other side does not answer. */
  ping?(conf: Parsed<C>): Promise<void>;
  source?: {
    /** What the DATASOURCE of a stream is; left out when it is of no use. */
    dataSource?: string;
    /** Properties of a stream. */
    props: S;
    /** Files and folders that the properties and the DATASOURCE name, by property: what is not allowed is refused. */
    files?(conf: Parsed<C> & Parsed<S>, dataSource: string): NamedFiles;
    form(conf: Parsed<C> & Parsed<S>): SourceForm;
    create(conf: Parsed<C> & Parsed<S>, context: SourceContext): Source;
  };
  sink?: {
    props: K;
    /** Files that the properties name, by property: what is not allowed is refused. */
    files?(conf: Parsed<C> & Parsed<K>): NamedFiles;
    create(conf: Parsed<C> & Parsed<K>, context: SinkContext): Sink;
  };
}

/** A connector as the engine uses it: properties come unchecked. */
export interface Connector {
  readonly name: string;
  readonly doc: string;
  readonly connection: Spec;
  files?(props: Record<string, unknown>): NamedFiles;
  /** Connects once and leaves again; throws the reason when that fails. Without it there is no other side to reach. */
  ping?(props: Record<string, unknown>): Promise<void>;
  readonly source?: {
    readonly dataSource?: string;
    readonly props: Spec;
    /** Checks properties; throws HaumeaError `config` that names the property. */
    check(props: Record<string, unknown>): void;
    files?(props: Record<string, unknown>, dataSource: string): NamedFiles;
    form(props: Record<string, unknown>): SourceForm;
    create(props: Record<string, unknown>, context: SourceContext): Source;
  };
  readonly sink?: {
    readonly props: Spec;
    check(props: Record<string, unknown>): void;
    files?(props: Record<string, unknown>): NamedFiles;
    create(props: Record<string, unknown>, context: SinkContext): Sink;
  };
}

/** Declares a connector. */
export function defineConnector<C extends Spec, S extends Spec, K extends Spec>(
  declared: ConnectorDeclaration<C, S, K>,
): Connector {
  const { name, doc, connection, files, ping, source, sink } = declared;
  const sourceProps = { ...connection, ...source?.props } as Spec;
  const sinkProps = { ...connection, ...sink?.props } as Spec;
  const sourceConf = (props: Record<string, unknown>) =>
    parse(sourceProps, props, { where: `${name} source` }) as Parsed<C> & Parsed<S>;
  const sinkConf = (props: Record<string, unknown>) =>
    parse(sinkProps, props, { where: `${name} sink` }) as Parsed<C> & Parsed<K>;
  return {
    name,
    doc,
    connection,
    files: files && ((props) => files(parse(connection, props, { where: `${name} connection` }) as Parsed<C>)),
    ping: ping && (async (props) => ping(parse(connection, props, { where: `${name} connection` }) as Parsed<C>)),
    source: source && {
      dataSource: source.dataSource,
      props: sourceProps,
      check: (props) => void sourceConf(props),
      files: source.files && ((props, dataSource) => source.files?.(sourceConf(props), dataSource) ?? {}),
      form: (props) => source.form(sourceConf(props)),
      create: (props, context) => source.create(sourceConf(props), context),
    },
    sink: sink && {
      props: sinkProps,
      check: (props) => void sinkConf(props),
      files: sink.files && ((props) => sink.files?.(sinkConf(props)) ?? {}),
      create: (props, context) => sink.create(sinkConf(props), context),
    },
  };
}
