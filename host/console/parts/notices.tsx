/** What came of the user's last order, at the edge of the page, also read out. */
import { signal } from '@preact/signals';
import { t } from '../state/language.js';
import { reasonOf } from '../state/server.js';

interface Notice {
  readonly text: string;
  readonly isBad: boolean;
}

const shownMs = 6000;
const notice = signal<Notice | undefined>(undefined);
let timer: ReturnType<typeof setTimeout> | undefined;

export function say(text: string, isBad = false): void {
  notice.value = { text, isBad };
  clearTimeout(timer);
  // What went wrong stays until it is read.
  if (!isBad) timer = setTimeout(() => (notice.value = undefined), shownMs);
}

/** To be called when another page is shown: what went wrong on the last one says nothing there. */
export function leave(): void {
  if (notice.value?.isBad === true) notice.value = undefined;
}

/** Does something and says what came of it; true when it was done. */
export async function tried(work: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    const answer = await work();
    say(done ?? (typeof answer === 'string' && answer !== '' ? answer : t('done', { n: 1 })));
    return true;
  } catch (error) {
    say(reasonOf(error), true);
    return false;
  }
}

export function Notices() {
  const { value } = notice;
  return (
    <div class="notices" role="status" aria-live="polite">
      {value !== undefined && (
        <p class={`notice ${value.isBad ? 'bad' : ''}`}>
          <span>{value.text}</span>
          <button type="button" class="plain" aria-label={t('close')} onClick={() => (notice.value = undefined)}>
            ×
          </button>
        </p>
      )}
    </div>
  );
}
