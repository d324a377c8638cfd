/** A page of several parts, of which one is shown. */
import type { ComponentChildren, ComponentType } from 'preact';
import { t } from '../state/language.js';
import { linkTo, route } from '../state/route.js';
import type { Word } from '../state/words.js';

export interface Tab {
  readonly path: string;
  readonly word: Word;
  readonly show: ComponentType;
}

interface TabsProps {
  readonly title: Word;
  readonly tabs: readonly [Tab, ...Tab[]];
  /** What stands below, whichever part is shown. */
  readonly children?: ComponentChildren;
}

export function Tabs({ title, tabs, children }: TabsProps) {
  const [page = '', path] = route.value;
  const current = tabs.find((tab) => tab.path === path) ?? tabs[0];
  const Show = current.show;
  return (
    <div class="page">
      <header>
        <h1>{t(title)}</h1>
      </header>
      <nav class="tabs" aria-label={t(title)}>
        {tabs.map((tab) => (
          <a
            key={tab.path}
            class="button"
            href={linkTo(page, tab.path)}
            aria-current={tab === current ? 'page' : undefined}
          >
            {t(tab.word)}
          </a>
        ))}
      </nav>
      <Show key={current.path} />
      {children}
    </div>
  );
}
