/** The items of an import: what is new, changed, removed and the same. */
import { useState } from 'preact/hooks';
import { type Difference, type Kind, linesOf } from '../../../sdk/differences.js';
import { Lines } from '../../parts/lines.js';
import { t } from '../../state/language.js';
import type { Word } from '../../state/words.js';

const kinds: readonly (readonly [kind: Kind, word: Word, look: string])[] = [
  ['new', 'isNew', 'good'],
  ['changed', 'isChanged', 'warn'],
  ['removed', 'isRemoved', 'bad'],
  ['same', 'isSame', 'faint'],
];

/** Items of a kind that are listed; an export may have as many as there are rules. */
const mostShown = 200;

export function Changes({ differences }: { differences: readonly Difference[] }) {
  return (
    <section class="card" aria-label={t('differences')}>
      <h2>{t('differences')}</h2>
      <p role="status">
        {kinds
          .map(([kind, word]) => `${t(word)}: ${differences.filter((one) => one.kind === kind).length}`)
          .join(' · ')}
      </p>
      {kinds.map(([kind, word, look]) => {
        const found = differences.filter((one) => one.kind === kind);
        return (
          found.length > 0 && (
            <details key={kind} open={kind !== 'same'}>
              <summary class={look}>{`${t(word)}: ${found.length}`}</summary>
              <ul class="plain-list">
                {found.slice(0, mostShown).map((one) => (
                  <Item key={`${one.section} ${one.name}`} {...one} />
                ))}
              </ul>
              {found.length > mostShown && <p class="faint">{t('shown', { n: mostShown, all: found.length })}</p>}
            </details>
          )
        );
      })}
    </section>
  );
}

/** An item, whose lines are shown at a click. */
export function Item({ section, name, kind, before, after }: Difference) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li>
      <button type="button" class="plain" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span class="faint">{section}</span> {name}
      </button>
      {isOpen && <Lines lines={kind === 'same' ? linesOf(after, after) : linesOf(before, after)} />}
    </li>
  );
}
