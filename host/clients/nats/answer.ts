/** What a stream answers to a message that was published to it. */
import type { Msg } from '@nats-io/transport-node';

export interface Answer {
  /** Reason why the stream did not take the message; undefined when it did. */
  readonly refusal: string | undefined;
  /** Trying again would change nothing. */
  readonly isFinal: boolean;
}

const taken: Answer = { refusal: undefined, isFinal: false };
/** Codes of a server that may do later what it does not now: a stream that is full, or has no leader. */
const later = new Set([10_023, 10_047, 10_008, 10_074, 10_077, 10_122, 10_167]);

export function answerIn({ headers, data }: Msg): Answer {
  if (headers?.code === 503) return { refusal: 'no stream takes the subject', isFinal: false };
  const text = Buffer.from(data.buffer, data.byteOffset, data.length).toString();
  if (!text.includes('"error"')) return taken;
  const { error } = parsed(text);
  if (error === undefined) return taken;
  const { code = 0, err_code: number = 0, description = 'the stream refused the message' } = error;
  return { refusal: description, isFinal: code !== 503 && !later.has(number) };
}

interface Refused {
  readonly error?: { readonly code?: number; readonly err_code?: number; readonly description?: string };
}

function parsed(text: string): Refused {
  try {
    return JSON.parse(text) as Refused;
  } catch {
    return { error: { description: 'the answer of the stream is no JSON' } };
  }
}
