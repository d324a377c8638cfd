/**
 * Cuts PUBLISH packets of QoS 1 and 2 out of the bytes of an MQTT connection, for a log that keeps them as they came.
 * The kernel cuts packets by itself; the cutter finds the bytes of the next messages that the kernel reports receipts
 * for.
 */
import { type Cut, CutStore } from '../bytes/cut-store.js';
import { isNamed, PacketReader } from './packet-reader.js';

export class PublishCutter {
  readonly #store = new CutStore();
  readonly #reader: PacketReader;

  constructor(maxMessageBytes: number) {
    this.#reader = new PacketReader(maxMessageBytes, {
      wants: isNamed,
      packet: (input, at, _body, end) => {
        this.#store.add(input.subarray(at, end));
        this.#store.end();
      },
      tooLong: (head) => {
        if (isNamed(head)) this.#store.end();
      },
    });
  }

  /** Takes the next bytes of the connection. */
  add(bytes: Uint8Array): void {
    this.#reader.read(bytes);
  }

  /** Forgets all cut packets, since they belong to the former connection. */
  reset(): void {
    this.#store.clear();
    this.#reader.reset();
  }

  /** Takes the next messages out; undefined when there are fewer. */
  take(messages: number): Cut | undefined {
    return this.#store.take(messages);
  }
}
