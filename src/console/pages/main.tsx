import "./style/all.css";
import { render } from "preact";
import { App } from "./app.js";
import { applyTheme, initialTheme } from "./theme.js";

applyTheme(initialTheme());
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
