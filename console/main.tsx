/** Entry point of the operator console. */
import { render } from 'preact';
import { App } from './app.tsx';
import { watchConnection } from './connection.ts';
import { startClock } from './format.ts';
import { watchSearchKeys } from './parts/search.tsx';
import { watchAddress } from './router.ts';
import { watchSession } from './session.ts';
import { watchTheme } from './theme.ts';
import { watchUploads } from './upload.ts';

// Stop the browser from replacing the console with a file that is dropped outside the drop area.
for (const event of ['dragover', 'drop']) addEventListener(event, (dropped) => dropped.preventDefault());

watchTheme();
watchAddress();
watchConnection();
startClock();
watchSession();
watchUploads();
watchSearchKeys();

const root = document.getElementById('console');
if (root !== null) render(<App />, root);
