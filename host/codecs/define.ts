/**
 * The form of a format: what its messages are, who turns them into rows and rows into them. The kernel does it by a
 * format of its own that the manifest names; what needs a library is done on the host, over whole chunks, and is loaded
 * when needed.
 */
import type { HostColumns, OutputChunk, StreamSpec } from '../../kernels/api.js';
import type { Made } from '../../kernels/calls/message-calls.js';
import type { ColumnType, OutputPlan } from '../../kernels/plan/ir.js';
import type { MessageTypes } from '../../kernels/plan/message-types.js';
import type { Spec } from '../base/fields/field.js';

type Props = Readonly<Record<string, unknown>>;

export interface Format {
  /** FORMAT of streams and `format` of actions; equals the name of the format's folder. */
  readonly name: string;
  readonly doc: string;
  /** Extension of files with messages of the format, without the dot. */
  readonly fileExtension?: string;
  readonly contentType?: string;
  /** Type of the schemas that say what messages are; SCHEMAID and `schemaId` name one. */
  readonly schemaType?: string;
  /** Rejects with the reason when the text is no schema of that type. */
  checkSchema?(text: string): Promise<void>;
  /** Columns of messages by a schema, or by the type in it that is meant; rejects as `checkSchema`. */
  schemaColumns?(text: string, type: string): Promise<readonly { name: string; type: ColumnType }[]>;
  /** How messages become rows; left out when streams can't have the format. */
  readonly decode?: Decode;
  /** How rows become messages; left out when actions can't have the format. */
  readonly encode?: Encode;
}

/** Messages to rows. */
export interface Decode {
  /** Format of the stream in the kernel. */
  readonly kernel: Exclude<StreamSpec['format'], 'rows' | 'fields'>;
  /** Options of the statement that belong to the format, besides FORMAT. */
  readonly options?: readonly string[];
  /** Properties of sources that belong to the format. */
  readonly props?: Spec;
  /** Further settings of the stream in the kernel, by the options of the statement. */
  readonly stream?: (options: { readonly delimiter: string | null }) => Pick<StreamSpec, 'delimiter'>;
  /** Names of the columns in the order of the values, by the properties of the source; undefined: the declared ones. */
  readonly columns?: (props: Props) => readonly string[] | undefined;
  /** A whole message is the value of the only column, which has type BYTEA; tables can't have the format. */
  readonly isWhole?: boolean;
  /** The codec that SCHEMAID names makes JSON of messages. */
  readonly usesCodec?: boolean;
  /** Messages may hold line feeds, so no line is one. */
  readonly isBinary?: true;
  /** The host makes JSON of messages; the format in the kernel is `coded` then. */
  readonly host?: HostDecode;
  /** How the host makes JSON of messages within others, where the kernel decodes those of streams. */
  readonly within?: HostDecode;
}

export interface HostDecode {
  /** Packages that may be missing, by the names they are installed under. */
  readonly packages?: readonly string[];
  /** Properties of sources that belong to the format. */
  readonly props?: Spec;
  /** What the decoder has to know of the stream, as plain data; nothing when left out. Throws for what can't be. */
  readonly settings?: (stream: FormatInput) => Props;
  /** Tells by the settings whether the host has anything to do; it always has when left out. */
  readonly isNeeded?: (settings: Props) => boolean;
  load(): Promise<(settings: Props) => MessageDecoder>;
}

/** A stream or an action, as its format sees it. */
export interface FormatInput {
  readonly props: Props;
  /** SCHEMAID or `schemaId`, empty without one. */
  readonly schemaId: string;
  /** Declared columns of a stream. */
  readonly schema: StreamSpec['schema'];
  /** Text of a schema of the format's type; throws when there is none of the name. */
  schemaText(name: string): string;
  /** Types of the messages that the schema declares; throws when there are none. */
  messages?(): MessageTypes;
}

export interface MessageDecoder {
  /** What has to be loaded before the message can be decoded; undefined: nothing. */
  readonly needs?: ((message: Uint8Array) => (() => Promise<void>) | undefined) | undefined;
  /** JSON text of a message as UTF-8, good until the next call. Throws the reason why there is none. */
  decode(message: Uint8Array): Uint8Array;
}

/** Rows to messages. */
export type Encode = KernelEncode | HostEncode;

export interface KernelEncode {
  /** Format of the output in the kernel. */
  readonly kernel: OutputPlan['format'];
  /** Properties of actions that belong to the format. */
  readonly props?: Spec;
  /** Further settings of the output in the kernel, by the properties of the action. */
  readonly output?: (props: Props) => EncodeDetails;
  /** Columns keep the order in which the property `fields` names them. */
  readonly keepsOrder?: true;
  /** What makes messages of the JSON that another encoder has written. */
  readonly afterOther?: EncoderModule;
  /** A message is a single unencoded value: of the column `self`, or of the only column. */
  readonly isWhole?: true;
}

export interface EncodeDetails extends Pick<OutputPlan, 'delimiter' | 'header' | 'schemaId'> {
  /** Messages have the columns that their first row has, not those that the statement names. */
  readonly ofFirstRow?: boolean;
}

export interface HostEncode {
  /** Format in which the kernel writes the input of the encoder. */
  readonly reads: OutputPlan['format'];
  /** Properties of actions that belong to the format. */
  readonly props: Spec;
  /** Property that chooses this encoder, whatever `format` says; left out when `format` chooses it. */
  readonly chosenBy?: string;
  /** The encoder applies `fields`, `excludeFields` and `dataField` itself, so the kernel gives it all columns. */
  readonly selects?: true;
  /** Properties that are Go templates; a rule with an invalid one is refused. */
  readonly templates?: readonly string[];
  /** It makes rows for sinks that take them. */
  readonly makesRows?: true;
  /** The codec that `schemaId` names makes the messages, also from the output of another encoder. */
  readonly usesCodec?: true;
  /** Packages that may be missing, by the names they are installed under. */
  readonly packages?: readonly string[];
  /** Messages may hold line feeds, so no line is one. */
  readonly isBinary?: true;
  /** What the encoder has to know of the action, as plain data. Throws for what can't be. */
  readonly settings?: (action: FormatInput) => Props;
  /** Completes the settings before a rule starts, where another system has to be asked. */
  prepare?(settings: Props): Promise<Props>;
  load(): Promise<(props: Props, context: EncodeContext) => Encoder>;
}

/** What is loaded to write messages. */
export type EncoderModule = Pick<HostEncode, 'load' | 'packages' | 'prepare'>;

export interface EncodeContext {
  /** Names the sink in errors. */
  readonly sink: string;
  readonly framing: OutputPlan['framing'];
  /** Errors go out in the place of the messages. */
  readonly sendError: boolean;
  /** The kernel writes lists of messages instead of single ones. */
  readonly isBatch: boolean;
  /** Settings of the format. */
  readonly settings?: Props | undefined;
  /** The sink takes rows: messages are written in the engine's own form. */
  readonly takesRows?: boolean;
  /** Runs the codec of a format that uses one over JSON texts. */
  readonly codec?: ((columns: HostColumns) => void) | undefined;
  /** Has a codec on another thread make messages of JSON texts. */
  readonly codecLater?: ((texts: readonly Uint8Array[]) => Promise<readonly Made[]>) | undefined;
  /** Types of the messages of a schema. */
  readonly messages?: MessageTypes | undefined;
}

/** Takes a message that can't be made, as it came. */
export type Unmade = (reason: string, message: Uint8Array) => void;

export interface Encoder {
  /** Makes the chunk that the sink gets. */
  encode(chunk: OutputChunk, failed: Unmade): OutputChunk;
  /** As `encode`, in its place where another thread makes the messages; the chunk stays as it is meanwhile. */
  readonly encodeLater?: ((chunk: OutputChunk, failed: Unmade) => Promise<OutputChunk>) | undefined;
}

/** Declares a format. */
export function defineFormat(format: Format): Format {
  return format;
}
