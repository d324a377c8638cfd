/** Entry of the console. */
import { render } from 'preact';
import { App } from './app.js';
import { language, speak } from './state/language.js';
import { setTheme, theme } from './state/theme.js';
import './styles/console.css';

speak(language.value);
setTheme(theme.value);
render(<App />, document.getElementById('app')!);
