/** Form in which the rows of a rule are written, and operands, which name values in the operations of a node. */

import type { MessageTypes } from './message-types.js';

/**
 * An operand of an operation: a u16. 0x0000+i temporary register, 0x4000+i column i of the operator's input batch,
 * 0x8000+i constant i of the program, 0xffff none.
 */
export type Operand = number;

/** Form of the rule's rows in messages. */
export interface OutputPlan {
  shape: /**
   * Named values, names ascending by UTF-8 bytes. `plain`: a column named by itself, whose null is sent as null. Even
   * with `sendNil` left out are nulls of `omitNull`, an expression without a name, and with `omitMissing` a column that
   * the row does not have.
   */
    | {
        kind: 'fields';
        fields: { name: string; operand: Operand; plain: boolean; omitNull?: boolean; omitMissing?: boolean }[];
      }
    /**
     * One operand that is an object: the row (`SELECT *` without a schema). With sendSingle an array of objects is one
     * message as it stands (sink property dataField); anything else is an error.
     */
    | { kind: 'object'; operand: Operand };
  /**
   * json text, `rows` (the engine's own binary form, for memory topics), `none` (nothing is written, rows are counted),
   * `delimited` (values with delimiters between them, rows of a message in lines), `form`
   * (application/x-www-form-urlencoded, a message for each row only), `raw` (the one value of the object shape as it
   * is, bytes or a text), `protobuf` (of `messages`, a message for each row only).
   */
  format: 'json' | 'rows' | 'none' | 'delimited' | 'form' | 'raw' | 'protobuf';
  /** protobuf: name of the message, by which `messages` are found at the start of a rule. */
  schemaId?: string;
  /** protobuf: the types of the messages. */
  messages?: MessageTypes;
  /** delimited: the text between values. */
  delimiter?: string;
  /**
   * delimited: the names of the columns stand before the first row: of messages of several rows, or of each message.
   */
  header?: 'lists' | 'each';
  /**
   * The row as an object: it is written as JSON before its message, see `OutputChunk`. Only with framing `messages`.
   */
  head?: Operand;
  /** One message for each row instead of an array. */
  sendSingle: boolean;
  /** Only the first row of each message is sent, not in a list, for json without sendSingle; heads have all rows. */
  firstOnly?: boolean;
  /** Computed nulls are sent as null instead of being left out. */
  sendNil: boolean;
  /** Messages without rows are not sent, with sendSingle rows without members. */
  omitIfEmpty: boolean;
  /** For omitIfEmpty: null, or an object without members, for rows that are left out whatever is written of them. */
  empty?: Operand;
  /** An error takes the place of a failed row or message. */
  sendError: boolean;
  /** Messages gathered into one before it is sent, see `isBatch`; 0: no limit. */
  batchSize: number;
  /** Longest wait of a gathered message, ms; 0: no limit. */
  lingerMs: number;
  /** rows: the watermark stands between them, and before the first the time of that one. */
  tellsTime?: boolean;
  /** lines: a line feed after each message. messages: the ends of the messages are reported with the bytes. */
  framing: 'lines' | 'messages';
}

/**
 * Messages are gathered: what is sent is the list of them, with sendSingle of rows, otherwise of lists of rows. Formats
 * other than JSON have no lists in lists, there the rows of all messages follow each other.
 */
export function isBatch({ batchSize, lingerMs }: Pick<OutputPlan, 'batchSize' | 'lingerMs'>): boolean {
  return batchSize > 0 || lingerMs > 0;
}
