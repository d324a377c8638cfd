/** Work that may take far longer than it should, on this thread and broken off when its time is up. */
import { createContext, Script } from 'node:vm';

const sandbox: { work?: () => void } = {};
const context = createContext(sandbox);
const script = new Script('work()');

/**
 * Does the work and returns true, or false when it was broken off after `ms` milliseconds by the clock. It may stop anywhere,
 * so the work must not call the kernel. A call costs about 0.1 ms: watch many pieces of work at once.
 */
export function within(ms: number, work: () => void): boolean {
  sandbox.work = work;
  try {
    script.runInContext(context, { timeout: ms });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return false;
  } finally {
    sandbox.work = undefined;
  }
}
