/** Where the server wants a token: asks for one. */
import { useState } from 'preact/hooks';
import { t } from '../state/language.js';
import { logIn, loginReason, token } from '../state/server.js';

export function Login() {
  const [text, setText] = useState('');
  const { value: reason } = loginReason;
  const isRefused = token.value !== undefined && reason !== '';
  return (
    <form
      class="card login"
      onSubmit={(event) => {
        event.preventDefault();
        logIn(text.trim().replace(/^Bearer +/i, ''));
      }}
    >
      <h1>{t('login')}</h1>
      {isRefused && (
        <p class="notice bad" role="alert">
          {t('tokenRefused', { why: reason ?? '' })}
        </p>
      )}
      <label class="field">
        {t('token')}
        <textarea
          class="mono"
          rows={5}
          required
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <span class="hint faint">{t('tokenHint')}</span>
      </label>
      <div class="row end">
        <button type="submit" class="main">
          {t('login')}
        </button>
      </div>
    </form>
  );
}
