/**
 * Bound on unconfirmed messages of one connection, for all its sinks together. A broker closes a connection that
 * exceeds the bound, and with it fail all sinks that share the connection.
 */

/**
 * Nothing in MQTT 3.1.1 tells the bound of a broker. Mosquitto takes 20 by default, others more; a message of QoS 1
 * needs a place there for the moment until it is confirmed, and finds none where QoS 2 has them all.
 */
const unannounced = 16;
/** Receive maximum of MQTT 5 when the broker names none. */
const receiveMaximumDefault = 65_535;

export class Window {
  /** Callbacks of users that wait for a place, called in turn as places become free. */
  readonly #waiting = new Map<object, () => void>();
  readonly #limit: number;
  /** Messages of QoS 1 need a place too; before MQTT 5 they need none, since brokers confirm them as they read. */
  readonly #isForAll: boolean;
  #taken = 0;

  constructor(version: 3 | 4 | 5, receiveMaximum = receiveMaximumDefault) {
    this.#isForAll = version === 5;
    this.#limit = version === 5 ? receiveMaximum : unannounced;
  }

  /** Takes a place for a message; returns false when none is free, and calls `retry` when there may be one. */
  take(qos: 1 | 2, user: object, retry: () => void): boolean {
    if (!this.#needsPlace(qos)) return true;
    if (this.#taken < this.#limit) {
      this.#taken++;
      return true;
    }
    this.#waiting.set(user, retry);
    return false;
  }

  /** Gives the place of a message back. */
  release(qos: 1 | 2): void {
    if (!this.#needsPlace(qos)) return;
    this.#taken--;
    this.#wake();
  }

  /** Forgets a user; a call meant for it goes to the next one. */
  forget(user: object): void {
    this.#waiting.delete(user);
    if (this.#taken < this.#limit) this.#wake();
  }

  #needsPlace(qos: 1 | 2): boolean {
    return this.#isForAll || qos === 2;
  }

  #wake(): void {
    for (const [user, retry] of this.#waiting) {
      this.#waiting.delete(user);
      retry();
      return;
    }
  }
}
