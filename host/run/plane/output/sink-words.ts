/** Sentences for people about a sink. */
import type { Connection } from '../connect/connection.js';
import { sizeText } from '../observe/size-text.js';

interface WordedSink {
  readonly label: string;
  readonly connection: Connection;
  readonly waitingBytes: number;
}

/** Sentence on a sink that blocks others; `ofQueue` tells what is wrong with its queue. */
export function troubleOf({ label, connection, waitingBytes }: WordedSink, ofQueue: string): string {
  const { downSince, status } = connection;
  const waiting = `${ofQueue === '' ? '' : `${ofQueue}, `}${sizeText(waitingBytes)} waiting`;
  if (status === 1) return `${label} does not keep up, ${waiting}`;
  return `${label} not connected for ${Math.round((Date.now() - downSince) / 1000)} s, ${waiting}`;
}

/** Sentence on the messages that a sink could not send before it was closed. */
export function lossOf({ label }: WordedSink, count: number, size: string, fate: string): string {
  const messages = `${count.toLocaleString('en')} message${count === 1 ? '' : 's'}${size}`;
  return `${label} is closed before ${messages} could be sent: ${fate}`;
}
