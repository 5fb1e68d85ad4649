# docker build -t bertcalc . && docker run -p 8501:8501 bertcalc
# With the proof against the real model: --build-arg REQUIREMENTS=requirements.txt (some GB).
FROM python:3.12-slim
ARG REQUIREMENTS=requirements-lite.txt
WORKDIR /app
COPY requirements.txt requirements-lite.txt constraints.txt ./
RUN pip install --no-cache-dir --only-binary=:all: -r $REQUIREMENTS
COPY .streamlit .streamlit
COPY app.py pyproject.toml README.md ./
COPY bertcalc bertcalc
COPY pages pages
RUN useradd --no-create-home reader
USER reader
EXPOSE 8501
HEALTHCHECK --interval=30s --timeout=3s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=2)"]
CMD ["streamlit", "run", "app.py", "--server.address=0.0.0.0"]
