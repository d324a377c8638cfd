/**
 * The form of a format: what its messages are, who turns them into rows and rows into them. The kernel does it by a
 * format of its own that the manifest names; what needs a library is done on the host, over whole chunks, and is loaded
 * when needed.
 */
import type { HostColumns, OutputChunk, StreamSpec } from '../../kernels/api.js';
import type { OutputPlan } from '../../kernels/plan/ir.js';
import type { Spec } from '../base/fields/field.js';

type Props = Readonly<Record<string, unknown>>;

export interface Format {
  /** FORMAT of streams, `format` of actions; that of the folder. */
  readonly name: string;
  readonly doc: string;
  /** Of files with such messages, without the dot. */
  readonly fileExtension?: string;
  readonly contentType?: string;
  /** Left out when streams can't have it. */
  readonly decode?: Decode;
  /** Left out when actions can't have it. */
  readonly encode?: Encode;
}

/** Messages to rows. */
export interface Decode {
  /** Format of the stream in the kernel. */
  readonly kernel: Exclude<StreamSpec['format'], 'rows'>;
  /** Options of the statement that it reads besides FORMAT. */
  readonly options?: readonly string[];
  /** What the kernel has to know beside the format, by the options of the statement. */
  readonly stream?: (options: { readonly delimiter: string | null }) => Pick<StreamSpec, 'delimiter'>;
  /** A message is the value of the only column, which is of type BYTEA; tables can't have it. */
  readonly isWhole?: boolean;
  /** The codec that SCHEMAID names makes JSON of messages. */
  readonly usesCodec?: boolean;
}

/** Rows to messages. */
export type Encode = KernelEncode | HostEncode;

export interface KernelEncode {
  /** Format of the output in the kernel. */
  readonly kernel: OutputPlan['format'];
  /** Properties of actions that it reads. */
  readonly props?: Spec;
  /** What has to be known beside the format. */
  readonly output?: (props: Props) => EncodeDetails;
  /** Columns that the property `fields` names go out in the order in which they stand there. */
  readonly keepsOrder?: true;
  /** A message is one value as it is: that of the column `self`, or of the only one. */
  readonly isWhole?: true;
}

export interface EncodeDetails extends Pick<OutputPlan, 'delimiter' | 'header'> {
  /** Messages have the columns that their first row has, not those that the statement names. */
  readonly ofFirstRow?: boolean;
}

export interface HostEncode {
  /** What the kernel writes for it. */
  readonly reads: OutputPlan['format'];
  /** Properties of actions that it reads. */
  readonly props: Spec;
  /** Of these the one that chooses it, whatever the property `format` says; without it `format` does. */
  readonly chosenBy?: string;
  /** It reads `fields`, `excludeFields` and `dataField` itself: the kernel gives it all columns. */
  readonly selects?: true;
  /** Of these the ones that are Go templates: a rule with one that is not right is refused. */
  readonly templates?: readonly string[];
  /** The codec that `schemaId` names makes the messages, also of what another one has written. */
  readonly usesCodec?: true;
  load(): Promise<(props: Props, context: EncodeContext) => Encoder>;
}

export interface EncodeContext {
  /** Names the sink in errors. */
  readonly sink: string;
  readonly framing: OutputPlan['framing'];
  /** Errors go out in the place of the messages. */
  readonly sendError: boolean;
  /** What the kernel writes are lists of messages. */
  readonly isBatch: boolean;
  /** Runs the codec of a format that uses one over JSON texts. */
  readonly codec?: ((columns: HostColumns) => void) | undefined;
}

export interface Encoder {
  /** Makes the chunk that the sink gets; `failed` is called for each message that can't be made. */
  encode(chunk: OutputChunk, failed: (reason: string) => void): OutputChunk;
}

/** Declares a format. */
export function defineFormat(format: Format): Format {
  return format;
}
