/** What a source wrote. */
import { nextFrame } from '../../../../host/connectors/messages/frames.js';

export interface Message {
  readonly text: string;
  readonly meta: Record<string, unknown>;
}

export function messagesOf(written: readonly Buffer[]): Message[] {
  const messages: Message[] = [];
  for (const bytes of written) {
    for (let at = 0; ; ) {
      const frame = nextFrame(bytes, at);
      if (frame === undefined) break;
      messages.push({ text: frame.payload.toString(), meta: JSON.parse(frame.meta.toString()) });
      at = frame.end;
    }
  }
  return messages;
}

export function textsOf(written: readonly Buffer[]): string[] {
  return messagesOf(written).map(({ text }) => text);
}
