/** Values of the server that pages show and keep current. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { isAnswering, loginReason, reasonOf } from './server.js';

export interface Polled<T> {
  /** The last answer; undefined before the first. */
  readonly value: T | undefined;
  /** Reason of a refusal; undefined after an answer. */
  readonly error: string | undefined;
  /** Asks at once. */
  readonly reload: () => void;
}

/** Time between two attempts while the server does not answer, ms. */
const awayMs = 1000;

/** Time between an answer and the next question, ms; it may depend on the answer. */
type Pause<T> = number | ((value: T) => number);

/**
 * Asks again and again while the page is seen: `everyMs` after each answer, 0 only once; by a server that is away it is
 * asked until it is back. `inputs` are what the question depends on.
 */
export function usePolled<T>(question: () => Promise<T>, everyMs: Pause<T>, inputs: readonly unknown[]): Polled<T> {
  const [state, setState] = useState<{ value?: T; error?: string }>({});
  const latest = useRef({ question, everyMs });
  latest.current = { question, everyMs };
  const again = useRef(() => {});
  const isLoginDue = loginReason.value !== undefined;
  const asked = useRef(inputs);
  useEffect(() => {
    // What other inputs have told is not shown; a new login changes nothing of what is there.
    if (inputs.some((one, i) => one !== asked.current[i])) setState({});
    asked.current = inputs;
    // Before the login that the server wants it would refuse everything.
    if (isLoginDue) return;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let looks = 0;
    let usualMs = typeof everyMs === 'number' ? everyMs : awayMs;
    const look = async () => {
      clearTimeout(timer);
      const mine = ++looks;
      // An answer that a later look has overtaken shows what was before.
      const isLate = () => isOver || mine !== looks;
      let next = usualMs;
      try {
        const value = await latest.current.question();
        if (isLate()) return;
        const { everyMs: pause } = latest.current;
        next = typeof pause === 'number' ? pause : pause(value);
        usualMs = next;
        setState({ value });
      } catch (error) {
        if (isLate()) return;
        if (!isAnswering.value) next = awayMs;
        else setState((old) => ({ ...old, error: reasonOf(error) }));
      }
      if (next === 0) return;
      timer = setTimeout(document.hidden ? wait : look, next);
    };
    // A page that nobody sees asks nothing.
    const wait = () => document.addEventListener('visibilitychange', look, { once: true });
    again.current = () => void look();
    void look();
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
    };
  }, [typeof everyMs === 'number' ? everyMs : undefined, isLoginDue, ...inputs]);
  return { value: state.value, error: state.error, reload: () => again.current() };
}
