/** The console for those who run the service. */
import { render } from 'preact';
import { App } from './app.tsx';
import { watchConnection } from './connection.ts';
import { watchTime } from './format.ts';
import { watchAddress } from './router.ts';
import { watchSession } from './session.ts';
import { watchTheme } from './theme.ts';
import { watchUploads } from './upload.ts';

// A file that is dropped beside the place for it would be opened by the browser, in the place of the console.
for (const event of ['dragover', 'drop']) addEventListener(event, (dropped) => dropped.preventDefault());

watchTheme();
watchAddress();
watchConnection();
watchTime();
watchSession();
watchUploads();

const root = document.getElementById('console');
if (root !== null) render(<App />, root);
