/** Orders are carried out one at a time: a second click while one is under way is none. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** `run` does nothing while what it was given before is under way. */
export function useOnce(): readonly [isBusy: boolean, run: (work: () => Promise<unknown>) => void] {
  const [isBusy, setBusy] = useState(false);
  const isUnderWay = useRef(false);
  const run = (work: () => Promise<unknown>) => {
    if (isUnderWay.current) return;
    isUnderWay.current = true;
    setBusy(true);
    void work().finally(() => {
      isUnderWay.current = false;
      setBusy(false);
    });
  };
  return [isBusy, run];
}

/** Tells whether the part of the page is still shown: who has left must not be led elsewhere by a late answer. */
export function useShown(): () => boolean {
  const isShown = useRef(true);
  // Known at once: an answer may come before the next frame.
  useLayoutEffect(
    () => () => {
      isShown.current = false;
    },
    [],
  );
  return () => isShown.current;
}
