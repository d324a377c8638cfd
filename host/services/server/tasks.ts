/** Work that goes on after its request was answered: clients ask for its state by an id. */
import { reasonOf } from '../../base/errors.js';
import { serverErrors } from '../errors/server.js';

export interface TaskState {
  readonly id: string;
  readonly status: 'register' | 'running' | 'finish' | 'error' | 'cancel';
  /** The result as JSON text, or the reason of a failure. */
  readonly message: string;
  /** Unix time, s. */
  readonly createdTimestamp: number;
  readonly updatedTimestamp: number;
}

interface Task {
  state: TaskState;
  readonly abort: AbortController;
}

/** The oldest tasks that are done are forgotten beyond this. */
const maxTasks = 1000;

export class TaskService {
  readonly #tasks = new Map<string, Task>();

  /** Starts a step in the background; returns the id of the task. A step that was canceled rejects. */
  start(kind: string, step: (signal: AbortSignal) => Promise<unknown>): string {
    const now = unixTime();
    const id = this.#freeId(`${kind}-${now}`);
    const state: TaskState = { id, status: 'register', message: '', createdTimestamp: now, updatedTimestamp: now };
    const task: Task = { state, abort: new AbortController() };
    this.#tasks.set(id, task);
    this.#forgetOld();
    setImmediate(() => void this.#run(task, step));
    return id;
  }

  get(id: string): TaskState {
    return this.#task(id).state;
  }

  /** Ends a task that has not changed anything yet; one that is done is only marked. */
  cancel(id: string): string {
    const task = this.#task(id);
    task.abort.abort();
    update(task, 'cancel', task.state.message);
    return 'cancel success';
  }

  async #run(task: Task, step: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    if (task.abort.signal.aborted) return;
    update(task, 'running', '');
    try {
      const result = await step(task.abort.signal);
      // A task that ends before a stop takes effect counts as finished.
      update(task, 'finish', JSON.stringify(result));
    } catch (error) {
      if (!task.abort.signal.aborted) update(task, 'error', reasonOf(error));
    }
  }

  #task(id: string): Task {
    const task = this.#tasks.get(id);
    if (task === undefined) throw serverErrors.taskMissing(id);
    return task;
  }

  #freeId(wanted: string): string {
    let id = wanted;
    for (let i = 2; this.#tasks.has(id); i++) id = `${wanted}-${i}`;
    return id;
  }

  #forgetOld(): void {
    for (const [id, { state }] of this.#tasks) {
      if (this.#tasks.size <= maxTasks) return;
      if (state.status !== 'register' && state.status !== 'running') this.#tasks.delete(id);
    }
  }
}

function update(task: Task, status: TaskState['status'], message: string): void {
  task.state = { ...task.state, status, message, updatedTimestamp: unixTime() };
}

function unixTime(): number {
  return Math.floor(Date.now() / 1000);
}
