/** The reference page: Swagger UI over the server's own OpenAPI document, and addresses as the reader sees them. */

type Props = Readonly<Record<string, unknown>>;

type Component = (props: Props) => unknown;

/** What is used of React, which is Swagger UI's. */
interface System {
  readonly React: {
    readonly createElement: (component: unknown, props: Props, ...children: unknown[]) => unknown;
  };
}

/** Makes the component that stands in the place of one of Swagger UI's. */
type Wrap = (Original: unknown, system: System) => Component;

/** What is used of Swagger UI, which another script brings. */
declare const SwaggerUIBundle: (options: object) => unknown;

const API = new URL("api/public/v1", document.baseURI).href;

for (const place of document.querySelectorAll(".base")) place.textContent = API;

// Swagger UI's dark colours hang on a class.
const darkness = matchMedia("(prefers-color-scheme: dark)");
const applyDarkness = () => document.documentElement.classList.toggle("dark-mode", darkness.matches);
darkness.addEventListener("change", applyDarkness);
applyDarkness();

/** What Swagger UI shows above the operations stands in the page already, and there is one server to choose. */
const nothing: Wrap = () => () => null;

/** No browser is to remember what was typed: it may be a token. */
const FORGETFUL = { autoComplete: "off", spellCheck: false };

const forgetful: Wrap =
  (Input, { React }) =>
  (props) =>
    React.createElement(Input, { ...props, ...FORGETFUL });

/** What is used of a parameter's field, beside what it hands on. */
interface FieldProps extends Props {
  readonly schema?: { readonly get: (name: string) => unknown };
  readonly errors?: { readonly size: number };
  readonly onChange: (value: string, name: unknown) => void;
}

/**
 * A parameter's field. Swagger UI's own tells of its text 0.35 s after the last key, or when it loses the focus: a
 * click on Execute that moves no focus, as of speech control or a script, would send the example. This one tells at once.
 */
const prompt: Wrap =
  (Original, { React }) =>
  (props) => {
    const { schema, errors, onChange, value, description, disabled, keyName } = props as FieldProps;
    if (schema?.get("enum") !== undefined) {
      const name = React.createElement("span", { className: "unseen" }, description);
      return React.createElement("label", {}, name, React.createElement(Original, props));
    }
    return React.createElement("input", {
      ...FORGETFUL,
      type: "text",
      className: errors?.size ? "invalid" : "",
      value: String(value ?? ""),
      placeholder: description,
      disabled,
      onChange: (event: { readonly target: { readonly value: string } }) =>
        onChange(event.target.value, keyName),
    });
  };

/** Folds a part that few read. */
const foldedHeaders: Wrap =
  (Headers, { React }) =>
  (props) =>
    React.createElement(
      "details",
      {},
      React.createElement("summary", {}, "Headers"),
      React.createElement(Headers, props),
    );

/** A documented status is one line until it is opened; that of success is open. */
const foldedResponse: Wrap =
  (Response, { React }) =>
  (props) => {
    const row = React.createElement(Response, props);
    const { code, response } = props as { code: string; response: { get: (name: string) => unknown } };
    if (code === "200") return row;
    const says = String(response.get("description") ?? "").replaceAll("`", "");
    const status = React.createElement("b", {}, code);
    const summary = React.createElement("summary", {}, status, " ", says);
    const table = React.createElement("table", {}, React.createElement("tbody", {}, row));
    const details = React.createElement("details", { className: "folded" }, summary, table);
    return React.createElement("tr", {}, React.createElement("td", { colSpan: 3 }, details));
  };

/** A list of choices has a name. */
const named: Wrap =
  (Choices, { React }) =>
  (props) => {
    const name = React.createElement("span", { className: "unseen" }, "Example");
    return React.createElement("label", {}, name, React.createElement(Choices, props));
  };

/** A link within a button can be reached by nobody; the address names what is open anyway. */
const unlinked: Wrap =
  (_, { React }) =>
  ({ text }) =>
    React.createElement("span", {}, text);

/** The name of a button is what is written on it. */
const asWritten: Wrap =
  (Button, { React }) =>
  ({ "aria-label": _, ...props }) =>
    React.createElement(Button, props);

const closing: Wrap =
  (Icon, { React }) =>
  (props) =>
    React.createElement(
      "span",
      {},
      React.createElement("span", { className: "unseen" }, "Close"),
      React.createElement(Icon, props),
    );

const ours = () => ({
  wrapComponents: {
    InfoContainer: nothing,
    ServersContainer: nothing,
    Input: forgetful,
    JsonSchema_string: prompt,
    headers: foldedHeaders,
    response: foldedResponse,
    ExamplesSelect: named,
    DeepLink: unlinked,
    Button: asWritten,
    CloseIcon: closing,
  },
});

// Swagger UI names what is open in the address but does not follow the way back to it: the address is enough.
history.pushState = history.replaceState;

SwaggerUIBundle({
  url: "openapi.json",
  domNode: document.getElementById("reference"),
  deepLinking: true,
  plugins: [ours],
  supportedSubmitMethods: ["get"],
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  // It would ask another host.
  validatorUrl: null,
  // A token is forgotten with the page.
  persistAuthorization: false,
});
