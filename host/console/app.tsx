/** The frame of all pages: navigation, settings of the page, the page itself. */
import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Login, NewLogin } from './pages/login.js';
import { Overview } from './pages/overview/overview.js';
import { Rules } from './pages/rules/rules.js';
import { focusContent, Questions } from './parts/dialog.js';
import { fetched } from './parts/loaded.js';
import { leave, Notices } from './parts/notices.js';
import { type Language, language, languages, speak, t } from './state/language.js';
import { linkTo, route } from './state/route.js';
import { isAnswering, isLetIn, isReadOnly, loginReason, logOut, token } from './state/server.js';
import { setTheme, type Theme, theme } from './state/theme.js';
import type { Word } from './state/words.js';

interface Page {
  readonly path: string;
  readonly word: Word;
  readonly show: ComponentType;
}

const Playground = fetched(async () => (await import('./pages/playground/playground.js')).Playground);

const Sources = fetched(async () => (await import('./pages/sources/sources.js')).Sources);
const Code = fetched(async () => (await import('./pages/code/code.js')).Code);
const Transfer = fetched(async () => (await import('./pages/transfer/transfer.js')).Transfer);
const Reports = fetched(async () => (await import('./pages/reports/reports.js')).Reports);
const Fleet = fetched(async () => (await import('./pages/fleet/fleet.js')).Fleet);
const ServerSettings = fetched(async () => (await import('./pages/settings/settings.js')).ServerSettings);
const GraphEditor = fetched(async () => (await import('./pages/editor/editor.js')).GraphEditor);

const pages: readonly Page[] = [
  { path: '', word: 'overview', show: Overview },
  { path: 'rules', word: 'rules', show: Rules },
  { path: 'playground', word: 'playground', show: Playground },
  { path: 'editor', word: 'editor', show: GraphEditor },
  { path: 'sources', word: 'sources', show: Sources },
  { path: 'code', word: 'code', show: Code },
  { path: 'transfer', word: 'transfer', show: Transfer },
  { path: 'reports', word: 'reports', show: Reports },
  { path: 'fleet', word: 'fleet', show: Fleet },
  { path: 'settings', word: 'settings', show: ServerSettings },
];

/** The menu is open, on narrow screens. */
const isMenuOpen = signal(false);

export function App() {
  const [first = ''] = route.value;
  const page = pages.find(({ path }) => path === first);
  const title = t(page?.word ?? 'notFound');
  useEffect(() => {
    document.title = `${title} · Haumea`;
    isMenuOpen.value = false;
  }, [title]);
  const at = route.value.join('/');
  const isFirst = useRef(true);
  const menuButton = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    leave();
    // What had the focus may be gone with the last page.
    if (!isFirst.current && document.activeElement === document.body) focusContent();
    isFirst.current = false;
  }, [at]);
  const Show = page?.show;
  const isLoginDue = loginReason.value !== undefined;
  return (
    <div class="frame">
      <button type="button" class="skip" onClick={() => document.getElementById('content')?.focus()}>
        {t('skip')}
      </button>
      <header class="topbar">
        <button
          ref={menuButton}
          type="button"
          aria-expanded={isMenuOpen.value}
          aria-controls="menu"
          aria-label={t('menu')}
          onClick={() => (isMenuOpen.value = !isMenuOpen.value)}
        >
          ☰
        </button>
        <Brand />
      </header>
      <Side page={first} onEscape={() => menuButton.current?.focus()} />
      <main class="content" id="content" tabIndex={-1}>
        {isReadOnly.value && (
          <p class="reading faint" role="note">
            {t('readOnly')}
          </p>
        )}
        {isLoginDue && !isLetIn.value ? <Login /> : Show === undefined ? <p class="page">{t('notFound')}</p> : <Show />}
      </main>
      {!isAnswering.value && (
        <p class="banner" role="alert">
          {t('away')}
        </p>
      )}
      <Notices />
      <Questions />
      {isLoginDue && isLetIn.value && <NewLogin />}
    </div>
  );
}

/** Navigation, and settings of the page. */
function Side({ page, onEscape }: { page: string; onEscape: () => void }) {
  return (
    <aside
      id="menu"
      class={`side ${isMenuOpen.value ? 'open' : ''}`}
      aria-label={t('menu')}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !isMenuOpen.value) return;
        isMenuOpen.value = false;
        onEscape();
      }}
    >
      <Brand />
      <nav aria-label={t('pages')}>
        {pages.map(({ path, word }) => (
          <a
            key={path}
            href={linkTo(path)}
            aria-current={path === page ? 'page' : undefined}
            onClick={() => (isMenuOpen.value = false)}
          >
            {t(word)}
          </a>
        ))}
      </nav>
      <Settings />
    </aside>
  );
}

function Brand() {
  return (
    <div class="brand">
      <svg viewBox="0 0 32 32" aria-hidden="true">
        <ellipse cx="16" cy="16" rx="14" ry="9" fill="#3b6cf6" transform="rotate(-20 16 16)" />
        <ellipse cx="12" cy="14" rx="4" ry="2.5" fill="#ff8a5c" transform="rotate(-20 12 14)" />
      </svg>
      Haumea
    </div>
  );
}

const themes: readonly (readonly [Theme, Word])[] = [
  ['auto', 'themeAuto'],
  ['light', 'themeLight'],
  ['dark', 'themeDark'],
];

/** Language, colours and the login. */
function Settings() {
  return (
    <div class="settings">
      <label>
        {t('language')}
        <select value={language.value} onChange={(event) => speak(event.currentTarget.value as Language)}>
          {languages.map(([name, label]) => (
            <option key={name} value={name}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <label>
        {t('theme')}
        <select value={theme.value} onChange={(event) => setTheme(event.currentTarget.value as Theme)}>
          {themes.map(([name, word]) => (
            <option key={name} value={name}>
              {t(word)}
            </option>
          ))}
        </select>
      </label>
      {token.value !== undefined && (
        <button type="button" onClick={logOut}>
          {t('logout')}
        </button>
      )}
    </div>
  );
}
