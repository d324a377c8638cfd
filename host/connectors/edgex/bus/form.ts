/** What a message bus does, whatever it is made of. */
import type { Envelope, Received } from './envelope.js';

export interface EdgexBus {
  /** Takes messages of the topic, or why one is none; topics are those of MQTT, with the wildcards + and #. */
  subscribe(topic: string, take: (message: () => Received) => void): Promise<void>;
  /**
   * Resolves when the server has the message; never when the connection is lost before. Throws `refused` for a message
   * that it will not take later either.
   */
  publish(topic: string, envelope: Envelope): Promise<void>;
  /** Reads nothing, or does again; left out where the server can't be told to wait. */
  pause?(isPaused: boolean): void;
  close(): Promise<void>;
}
