/** The start of a rule, as the answer to a request tells it. */
import type { Engine } from '../../model/engine.js';

/** How long the answer to a start waits for the sources to connect. */
const openWaitMs = 1000;
/** How long the answer waits for the rule to run: the first rule waits for the start of the data plane. */
const runWaitMs = 5000;
/** Time between two looks at the rule: news of it come earlier, and engines without news are asked often. */
const lookMs = 50;
const pollMs = 1;

const stillStarting = 'the rule is starting, its sources are not connected yet: its status tells when they are';

/**
 * Resolves when the rule runs and its sources have tried to connect, so that what a client sends after the answer
 * reaches the rule. When that takes too long it says so in notes: clients expect the usual text.
 */
export async function startedNotes(engine: Engine, id: string): Promise<readonly string[]> {
  let end = performance.now() + runWaitMs;
  let isRunning = false;
  const isOpening = () => {
    const state = engine.state(id);
    if (state === 'running' && !isRunning) {
      isRunning = true;
      end = performance.now() + openWaitMs;
    }
    return state === 'starting' || (state === 'running' && engine.opening(id) === undefined);
  };
  while (isOpening() && performance.now() < end) await news(engine, id);
  if (isOpening()) return [stillStarting];
  const state = engine.state(id);
  if (state === 'stopped by error') return [`the rule has ended: ${(await engine.status(id)).message}`];
  if (state !== 'running') return [];
  const restored = engine.restored?.(id) ?? '';
  return [...(restored === '' ? [] : [`the rule ${restored}`]), ...(engine.opening(id) ?? [])];
}

/** Resolves when there may be something new of the rule. */
function news(engine: Engine, id: string): Promise<void> {
  return new Promise((resolve) => {
    if (engine.onNews === undefined) {
      setTimeout(resolve, pollMs);
      return;
    }
    const timer = setTimeout(() => {
      takeBack();
      resolve();
    }, lookMs);
    const takeBack = engine.onNews(id, () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
