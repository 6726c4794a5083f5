"""The model: not there, or not for this account."""

from __future__ import annotations

from remedy.causes.case import Case, claim_from
from remedy.causes.containers import NOT_OF_AN_IMAGE
from remedy.causes.entry import Cause, Claim, Page, Signature, any_of
from remedy.causes.shared import HUB_UNREACHED
from remedy.hints import Final
from remedy.value import replace

# The hub gives no answer, and there is no copy here.
_UNREACHED: Final = (
    Signature("specific connection error when trying to load", r"load (?P<model>[^\s:]+):"),
    Signature("ouldn't connect to 'http"),
    *HUB_UNREACHED,
    Signature("huggingface.co", r"host='huggingface\.co'.*(?:Max retries exceeded|timed out|resolution)"),
)
_NOT_FOUND: Final = (
    Signature("is not a local folder", r"(?<!\S)(?P<model>\S+) is not a local folder"),
    Signature("not a valid model identifier"),
    Signature("ncorrect path_or_model_id", r"path_or_model_id: '(?P<model>[^']+)'"),
    Signature("o model weights found in", r"weights found in:? [`'](?P<model>[^'`]+)"),
    Signature("epo id must be in the form", r"[Rr]epo id must be in the form .*: '(?P<model>[^']+)'|Repo id"),
    Signature("HFValidationError"),
    Signature("RepositoryNotFoundError"),
    Signature(" Not Found for url", r"(?:Repository|Revision|Entry) Not Found for url"),
    Signature("Repository Not Found"),
    *any_of(
        "IncompleteSnapshotError",
        "CachedRepoTreeNotFoundError",
        "RevisionResolutionError",
        "NotASafetensorsRepoError",
        pattern="",
    ),
    Signature("is not a valid git identifier"),
    Signature("rror no file named", r"found in directory (?P<model>\S+?)\.?$"),
    Signature("EntryNotFoundError"),
    Signature("RevisionNotFoundError"),
    Signature("Unrecognized model in", r"Unrecognized model in (?P<model>\S+?)\.? "),
    Signature("does not appear to have a file named"),
    Signature("Invalid repository ID or local directory"),
    # vLLM, before and since Mistral's params.json is one
    *any_of("detect config format", "supported config format", pattern=r"(?:not detect|No supported) config format"),
    Signature(
        "Can't load",
        r"Can't load (?:the |image processor|tokenizer|config\w*|feature|processor"
        r"|model).* (?:for|of) '(?P<model>[^']+)'",
    ),
    Signature(
        "No such file or directory",
        r"No such file or directory:? .{0,4}?['\"]?(?P<model>[^'\"]*(?:config\.json"
        r"|\.safetensors(?:\.index\.json)?|\.(?:gguf|pth|ckpt|onnx|engine|plan)|/params\.json|tokenizer\S*"
        r"|/models?(?:/[^'\"]*|(?=['\"]))))['\"]?",
    ),
    Signature("failed to open GGUF file", r"GGUF file '?(?P<model>[^']+)'?"),
    # llama.cpp's server ends every load that failed with the words "failed to load model, '...'"
    Signature("gguf", r"(?:failed to (?:open|load(?! model, '))|no such file).{0,60}\.gguf|\.gguf.{0,40}[Nn]o such f"),
    # Triton's back ends
    Signature("' for model", r"unable to find (?:[\w ]+ |'[^']+' or )?'(?P<model>[^']+)' for model"),
    # Triton itself, TensorRT-LLM, TensorFlow's server and KServe's
    *any_of(
        "open text file for read ",
        "ailed to stat file ",
        "opening engine file: ",
        "ould not find base path ",
        "ail to locate model file for model ",
        pattern=r"for read (?P<model>\S+/config\.pbtxt)|stat file (?P<model2>\S+)|engine file: (?P<model3>\S+)"
        r"|base path (?P<model4>\S+) for servable|under dir (?P<model5>[^\s,]+)",
    ),
    # what git leaves of a file that it was to fetch from its large file storage, as a pickle
    Signature("invalid load key, 'v'", library="torch"),
    # S3's answers
    Signature(
        "An error occurred (", r"\((?:404|NoSuch(?:Key|Bucket))\) when calling the \w+ operation", library="boto"
    ),
    # Docker, of a folder with models
    Signature("ind source path does not exist: ", r"exist: (?P<model>\S*model\S*?)\.?$"),
    Signature("not found, try pulling it first", r"model ['\"](?P<model>[^'\"]+)['\"] not found"),
    Signature("pull model manifest", r"pull model manifest: (?:file does not exist|40[04]\b)"),
    *any_of(
        "/blobs/sha256",
        "Modelfile: no such file",
        pattern=r"open (?P<model>\S*(?:/blobs/sha256\S{65}|Modelfile)): no such file",
        library="ollama",
    ),
    Signature("o Modelfile or safetensors files found", library="ollama"),
    # llama.cpp, of the other parts of a model, and of the hub's answer
    Signature(" split f", r"load GGUF split from (?P<model>\S+)|(?:illegal|invalid) split file: ", library="llama.cpp"),
    *any_of("status code received: ", "HF API, response code: ", pattern=r": 404\b", library="llama.cpp"),
    # Rust's clients of the hub
    *any_of(
        "404 Not Found) for url",
        "Status(404, ",
        "status code 404",
        pattern=r"(?:huggingface\.co|hf-mirror\.com|modelscope\.cn)/",
    ),
    Signature("not found at model id", r"model id \"(?P<model>[^\"]+)\"", library="mistral.rs"),
    Signature("NotExistError", r"NotExistError: (?:Not exist: |The model: )?(?P<model>\S+)", library="modelscope"),
    Signature("is not a valid HuggingFace model", r"'(?P<model>[^']+)' is not a valid HuggingFace"),
    Signature("Not a directory: '", r"'(?P<model>[^']*(?:/config\.json|/models?/[^']*))'"),
    *any_of(
        "does not exist",
        "doesn't exist",
        pattern=r"[Pp]ath [`'\"]?(?P<model>\S*/models?/\S*?)[`'\"]? (?:does not|doesn't) exist",
        needs="ath ",
    ),
    Signature("model weights with", r"annot find any (?:\w+ )?model weights with ['`]?(?P<model>[^'`]+)"),
    Signature("ould not find checkpoint files", r"checkpoint files '(?P<model>[^']+)'"),
    *any_of(
        "ould not find model at",
        "odel or revision not found at",
        "an't find weights for",
        "without having git-lfs installed",
        "resource does not seem to be on huggingface.co",
        pattern="",
    ),
    Signature("etect config format for no config file found", library="vllm"),
    Signature("ailed to load mistral", r"config for model (?P<model>\S+?)\. ", library="vllm"),
    *any_of(
        "does not exist",
        "doesn't exist",
        "not found",
        "is not a directory",
        # a server's answer to a client who asked for another model is no fault of its start
        # (nor is what LiteLLM says of a model whose price it does not know)
        pattern=r"(?i)^(?!.*(?:the model `[^`]*` does not exist|not found in (?:cost map|router)|, skipping"
        r"|found.*\bdownload(?:ing)?\b.{0,20}(?:model|it|\.\.\.))).*"
        r"(?<![a-z0-9]_)model (?:path|file|directory|dir)? ?['\"`]?(?P<model>(?!(?:attribute|class|type) )\S*?)['\"`]?"
        r" ?(?:does not exist|doesn't exist|not found|is not a directory)",
        needs="odel",
    ),
    # a project's own words for a folder without weights; what is downloaded next is not missed
    *any_of(
        "weights ",
        "checkpoint",
        "model file",
        pattern=r"(?i)(?:could ?n[o']t|can ?not|can't|unable to|failed to) (?:find|locate) (?:any |the )?"
        r"(?:\w+ ){0,3}(?:weights|checkpoints?|model files?) (?:under|in|inside|at) "
        r"(?!(?:the )?(?:checkpoint|state))(?P<model>\S+)(?!.*(?:download|scratch))",
    ),
    *any_of(
        "o model found",
        "o models found",
        "o model file",
        "o checkpoint",
        "o local weights",
        pattern=r"(?i)\bno (?:local )?(?:(?:model|checkpoint)(?: file)?|weight)s? (?:was |were )?found "
        r"(?:in|under|inside|at) [`'\"]?(?P<model>[^\s`'\"]+)(?!.*(?:download|scratch))",
    ),
    Signature("necessary to load this pretrained model", r"the file (?P<model>\S+) which", library="diffusers"),
    Signature("error loading model", r"error loading model: .*(?:No such|failed to open|not found)"),
    Signature("is not a valid model", r"is not a valid model"),
    *any_of(
        "o safetensors ",
        "safetensors",
        ".gguf file found",
        pattern=r"[Nn]o ['`\"]?\.?safetensors['`\"]? (?:weights |files? )?found(?!.*(?:[Tt]rying|[Ff]all|\.bin))"
        r"|\bno \.gguf file found|(?:ould not find|[Mm]issing|no file named) "
        r"['\"`]?(?:pytorch_|adapter_)?model\.safetensors"
        r"|Error: .*model\.safetensors['\"`]? not found in",
    ),
    # weights and tokenizers that are named by their place
    *any_of(
        "heckpoint",
        "okenizer",
        pattern=r"Error: (?:.{0,30} )?(?:[Cc]heckpoint|[Tt]okenizer)(?: (?:path|file|directory|dir))? "
        r"(?P<model>/?\S*? ?)(?:does not exist|(?:was |is )?not found)(?: at|:|!|$)(?!.*scratch)",
    ),
    *any_of(
        "download model",
        "download the model",
        pattern=r"(?:[Ff]ailed to|[Cc]ould not|[Uu]nable to) download (?:the )?model\b",
    ),
    Signature("epository not found for", r"[Rr]epository not found for (?P<model>\S+)"),
    Signature("heck if the tokenizer exists or the model path", library="colossalai"),
    Signature("The request model: ", r"The request model: (?P<model>\S+) does not exist", library="modelscope"),
    Signature("Unable to open file ", r"file '?[\w.-]+'? in model(?: '(?P<model>[^']+)')?", library="ctranslate2"),
    Signature("Can't find 'adapter_config.json'", r"adapter_config\.json'(?: at '(?P<model>[^']+)')?", library="peft"),
    Signature("ould not find tokenizer.model in"),
    Signature("404 Client Error", r"404 Client Error.*huggingface|404 Client Error.*modelscope"),
)


def _not_found(case: Case) -> Claim | None:
    claim = claim_from(case.hits(*_UNREACHED, *_NOT_FOUND))
    if claim is None or case.has(*_NOT_FOUND):
        return claim
    summary = "The model is not on this machine, and the hub that has it gave no answer."
    advice = (
        "Look from here, as the service does: `curl -sI https://huggingface.co` (HTTPS_PROXY= and HF_ENDPOINT= of the "
        "unit count); or fetch it where there is a network, and name its folder in ExecStart=."
    )
    return replace(claim, summary=summary, advice=advice)


CAUSES: Final = (
    Cause(
        id="model-not-found",
        title="the model's path or name does not exist",
        handling="advise",
        rank=68,
        summary="The model {model} is not found.||The model's path or name is not found.",
        advice="Look at a path as the service's user does: `sudo -u {user} ls -ld {model}`; look a name up on the hub."
        "||Check the path as the service's user, or the name on the hub.",
        judge=_not_found,
        signatures=(*_UNREACHED, *_NOT_FOUND),
        page=Page(
            meaning="The server looks for the model as a folder, then as a name on a hub, and finds neither.",
            origin="A typing error, a folder on a disk that isn't mounted, a download that is not complete, or a path "
            "relative to another working directory; or no way to the hub (a proxy that the unit does not name).",
            recognised="`is not a local folder and is not a valid model identifier`, `does not appear to have a file "
            "named config.json`.",
            mending="The absolute path in ExecStart=; RequiresMountsFor= with it, so that the disk is there first.",
            avoid="`~` and `$HOME` in ExecStart= arguments: only `${NAME}` of the unit's environment is replaced "
            "there.",
            sources=("transformers, utils/hub.py", "systemd.service(5), command lines"),
        ),
    ),
    Cause(
        id="model-access-denied",
        title="the model is gated, or the token is missing or refused",
        handling="advise",
        rank=67,
        summary="The hub refuses access to the model: it is gated, or the token is missing or wrong.",
        advice="Accept the model's terms on the hub, and give the unit a token in a root-only EnvironmentFile= "
        "(HF_TOKEN in it), or download the model beforehand.",
        signatures=(
            Signature("GatedRepoError"),
            Signature("gated repo"),
            # pyannote's, around what the hub answered
            Signature(
                "gated",
                r"be because the \w+ is (?:private or )?gated|is private or gated:? so make"
                r"|(?:[Rr]epo|[Rr]epository|[Mm]odel)\b.{0,60} is gated\b(?! (?:on|by))",
            ),
            Signature("nauthorized for URL"),
            Signature("is restricted", r"Access to model .* is restricted"),
            # with "Repository Not Found" behind it the hub says that there is no such name, or none for anyone unknown
            Signature("401 Client Error", r"^(?!.*RepositoryNotFoundError).*401 Client Error"),
            Signature("403 Client Error"),
            Signature(
                "403 Forbidden",
                # a proxy may say so as well
                NOT_OF_AN_IMAGE + r"(?!.*Tunnel connection failed).*(?:403 Forbidden.*(?:huggingface|hf\.co|model)"
                r"|huggingface.*403 Forbidden)",
            ),
            Signature("401 Unauthorized", NOT_OF_AN_IMAGE),
            Signature("nvalid user token"),
            Signature("failed to access model", r"token (?:does not exist|is invalid), failed", library="modelscope"),
            Signature("ur token has the correct permissions"),
            Signature("nvalid credentials in Authorization header"),
            Signature("Invalid username or password"),
            Signature(
                "User Access Token",
                r"(?:expired|[Ii]nvalid|not valid).{0,40}User Access Token|User Access Token.{0,40}(?:expired|invalid)",
            ),
            Signature("not in the authorized list"),
            # NVIDIA NIM's, of NGC; the profile that it then does not find is what this took from it
            Signature("requested operation requires permissions that the user does not have"),
            Signature("awaiting a review from the repo authors"),
            *any_of(
                "LocalTokenNotFoundError",
                "Hugging Face token was not found",
                "pass a valid `token` or login",
                "rejected by the repo's authors",
                pattern="",
            ),
            # S3's answers, and boto's where it has nothing to ask with
            *any_of(
                "An error occurred (",
                "NoCredentialsError",
                pattern=r"\((?:403|AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken)\) when calling"
                r"|NoCredentialsError: ",
                library="boto",
            ),
            Signature("NotLoginException", library="modelscope"),
            # llama.cpp's words of the hub's answer, and those of Rust's clients
            *any_of(
                "status code received: ",
                "HF API, response code: ",
                "Status(40",
                "status code 40",
                pattern=r"received: 40[13]\b|HF API, response code: 40[13]\b|Status\(40[13], .*huggingface\.co/"
                r"|huggingface\.co/\S+: status code 40[13]\b",
            ),
            *any_of(
                "NGC_API_KEY",
                "NGC API ",
                "uthentication Error",
                pattern=r"NGC_API_KEY (?:environment variable )?(?:is )?(?:not (?:set|provided)|required|missing"
                r"|invalid)|(?i:invalid NGC API key)|(?:NGC|nim\w*|[Mm]anifest\b).{0,80}Authentication Error",
                library="nim",
            ),
            *any_of(
                "HF_TOKEN",
                "hf_token",
                "HuggingFace",
                "Hugging Face",
                "access token",
                "Access Token",
                pattern=r"(?i)(?:hf_token|hugging ?face\S* token|access token) .{0,40}(?:required|missing|invalid"
                r"|not set|is needed)",
            ),
        ),
        page=Page(
            meaning="The model exists, and the hub doesn't give it to whoever asked.",
            origin="The terms were not accepted with this account, the token lacks the right, has expired, or is in a "
            "shell's profile that the unit doesn't read.",
            recognised="`Access to model … is restricted`, `401 Client Error`, `GatedRepoError`.",
            mending="LoadCredential= of a token, or a token in an EnvironmentFile= that only root can read (systemd "
            "reads it before it changes user).",
            avoid="A token in Environment= can be read by every user of the machine with systemctl show.",
            sources=("huggingface_hub, errors", "systemd.exec(5), LoadCredential= and EnvironmentFile="),
        ),
    ),
)
