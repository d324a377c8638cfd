/**
 * A broker sends no more than its window of unacknowledged messages (20 with mosquitto), and messages in a gathered
 * batch stay unacknowledged: a batch of more rows than that would never be full. So a batch is sent early when the
 * sender has fallen silent. When it goes on as soon as it has its acknowledgements, the number of messages that waited
 * is its window, and from then on batches are sent when the window is used up, without a wait.
 *
 * The same holds for messages that wait for a checkpoint, which is taken early then; and when there are many of them,
 * since a sender without a window would have to keep them all. Where messages go to a log instead see
 * `state/input-log/pace.ts`.
 *
 * On a busy machine a sender goes on late. So the same number of messages in one go, twice, is a window as well.
 */
import type { Acknowledgements } from './barrier.js';

/** No known broker has a smaller window unless it is told so. */
const usualWindow = 10;
/** Silence of a sender that waits for acknowledgements, and longest time until it then goes on, ms. */
const silenceMs = 100;
/** Silence of a sender with fewer messages than a usual window, which is most likely just slow, ms. */
const longSilenceMs = 5000;
/** Messages with no longer pause between them came in one go, ms. */
const oneGoMs = 25;
/** Number of messages that are enough for a checkpoint, however soon after the last one. */
const manyMessages = 10_000;
/** Largest window, since packet numbers end there. */
const maxWindow = 65_536;

export class EarlyBatches {
  #window = Number.POSITIVE_INFINITY;
  /** Number of messages from which a silent sender is taken to have used up its window. */
  #suspicious = usualWindow;
  /** Messages that waited when batches were sent early, until it is known whether that brought the sender back. */
  #tried = 0;
  /** Messages that waited when batches were sent early the time before. */
  #before = 0;
  /** The waiting messages came without a pause. */
  #isInOneGo = true;
  #cameAt = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param send sends what is gathered */
  constructor(
    private readonly acknowledgements: Acknowledgements,
    private readonly send: () => void,
  ) {}

  /** Input has come, and is processed. `isWaiting`: it is not acknowledged by itself. */
  worked(isWaiting: boolean): void {
    clearTimeout(this.#timer);
    const { count } = this.acknowledgements;
    if (count > this.#window) this.#window = Number.POSITIVE_INFINITY;
    if (!isWaiting) return;
    if (count >= Math.min(this.#window, manyMessages)) this.send();
    else this.#timer = setTimeout(() => this.#silent(), this.#patienceMs(count)).unref();
  }

  #patienceMs(count: number): number {
    const isPile = this.#isInOneGo && count >= usualWindow;
    if (count >= this.#suspicious || (isPile && count === this.#before)) return silenceMs;
    return longSilenceMs;
  }

  /** Input comes. */
  came(): void {
    const { count, lastAt } = this.acknowledgements;
    const now = performance.now();
    if (this.#tried > 0) {
      const isAnswer = count === 0 && now - lastAt <= silenceMs;
      const isRepeated = this.#isInOneGo && this.#tried === this.#before && this.#tried >= usualWindow;
      if (isAnswer || isRepeated) {
        this.#window = this.#tried;
        this.#suspicious = usualWindow;
      } else this.#suspicious = Math.min(maxWindow, Math.max(this.#suspicious, this.#tried * 2));
      this.#before = this.#tried;
      this.#tried = 0;
    }
    this.#isInOneGo = count === 0 || (this.#isInOneGo && now - this.#cameAt < oneGoMs);
    this.#cameAt = now;
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #silent(): void {
    this.#tried = this.acknowledgements.count;
    this.send();
  }
}
