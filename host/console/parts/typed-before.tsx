/** Says that what is shown was typed before and not saved, and takes it away. */
import { t } from '../state/language.js';

export function TypedBefore({ onDiscard }: { onDiscard: () => void }) {
  return (
    <p class="notice row">
      {t('typedBefore')}
      <button type="button" onClick={onDiscard}>
        {t('discard')}
      </button>
    </p>
  );
}
