/** Messages that wait for an answer, in the order in which they were sent. Answers mostly come in that order, too. */

export interface InFlightMessage {
  /** Where the message waits. Only for `InFlight`. */
  flight?: object | undefined;
}

/** Places of answered messages at the begin of the list, from which on they are given up. */
const mostAnswered = 1024;

export class InFlight<M extends InFlightMessage> {
  #messages: M[] = [];
  #first = 0;
  size = 0;

  /** Takes a message that does not wait here. */
  add(message: M): void {
    message.flight = this;
    this.#messages.push(message);
    this.size++;
  }

  /** Takes a message out; false when it does not wait here any more. */
  delete(message: M): boolean {
    if (message.flight !== this) return false;
    message.flight = undefined;
    this.size--;
    if (this.size === 0) {
      this.#messages = [];
      this.#first = 0;
      return true;
    }
    while (this.#messages[this.#first]!.flight !== this) this.#first++;
    if (this.#first >= mostAnswered) {
      this.#messages = this.#messages.slice(this.#first);
      this.#first = 0;
    }
    return true;
  }

  /** The messages, in order. */
  get all(): M[] {
    return this.#messages.slice(this.#first).filter(({ flight }) => flight === this);
  }
}
